/// Nobody in a run signs two histories, so nobody may be accused of it (`10-security.md` §12).
package enum Equivocation {
    package static let invariant = "an honest leader is accused of two histories by nobody"
}
