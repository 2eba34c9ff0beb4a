@_exported public import struct MeshFaults.LinkConditions
@_exported public import struct MeshWire.NodeID
@_exported public import struct MeshWire.ParticipantID
@_exported public import struct MeshWire.SessionID
@_exported public import struct MeshWire.SocketAddress

// What a program of ours names in the words of this module's interface.
