@_exported public import Combine
@_exported public import CoreTransferable
@_exported public import Foundation
@_exported public import enum Huddle.DeliveryFailure
@_exported public import enum Huddle.DeliveryMode
@_exported public import enum Huddle.EligibilityDiagnosis
@_exported public import enum Huddle.GroupSessionError
@_exported public import enum Huddle.JournalError
@_exported public import enum Huddle.MessengerError
@_exported public import struct Huddle.Participant
@_exported public import Observation

// One import brings what a program of Apple's has with it, and the types that `Huddle` shares
// (`40-groupactivities.md` §2, §11).
