# Shared by the tools: the preparation of a machine and the timing of phases. Sourced, not run.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# What a build needs and what only some tests use, as Debian and Ubuntu name it.
needed_packages=(libsodium-dev pkg-config)
test_packages=(iproute2 python3)

say() { printf '%s\n' "$*" >&2; }

# Ends with 77, "cannot run here", after saying what to do.
cannot() {
    say "huddle: $1"
    shift
    local line
    for line in "$@"; do say "  $line"; done
    exit 77
}

# Puts a Swift toolchain of at least 6.3 on the path.
find_swift() {
    local place version
    if ! command -v swift >/dev/null 2>&1; then
        for place in "${HOME:-/root}/.local/share/swiftly/bin" /opt/swift/usr/bin \
            /usr/share/swift/usr/bin /usr/libexec/swift/bin; do
            [ -x "$place/swift" ] && PATH="$place:$PATH" && break
        done
    fi
    command -v swift >/dev/null 2>&1 || cannot "Swift is not installed, or not on the PATH." \
        "Huddle needs Swift 6.3 or later. Install it from https://www.swift.org/install/linux/" \
        "(Debian 12 and Ubuntu 22.04 or later have ready packages), then run this again:" \
        "  export PATH=/where/you/unpacked/it/usr/bin:\$PATH"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    if [ -z "$version" ]; then
        cannot "'$(command -v swift)' does not run here." \
            "Run 'swift --version' to see what it lacks; its packages are listed at" \
            "https://www.swift.org/install/linux/"
    fi
    if [ "${version%%.*}" -lt 6 ] || { [ "${version%%.*}" -eq 6 ] && [ "${version#*.}" -lt 3 ]; }; then
        cannot "Swift $version is too old; Huddle needs 6.3 or later." \
            "Get it from https://www.swift.org/install/linux/"
    fi
}

# Whether a package's content is here, however it came here.
has_package() {
    case $1 in
    libsodium-dev) pkg-config --exists libsodium 2>/dev/null || [ -e /usr/include/sodium.h ] ;;
    pkg-config) command -v pkg-config >/dev/null 2>&1 ;;
    iproute2) command -v ip >/dev/null 2>&1 ;;
    python3) command -v python3 >/dev/null 2>&1 ;;
    esac
}

# Installs Debian packages; fails, and says nothing, where that is not possible.
install_packages() {
    local sudo=()
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        sudo=(sudo -n)
    fi
    local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install -y -q --no-install-recommends "$@")
    "${install[@]}" >/dev/null 2>&1 && return 0
    # The list of packages may be empty or old.
    "${sudo[@]}" apt-get update -q >/dev/null 2>&1
    "${install[@]}" >/dev/null
}

missing_of() {
    local package
    for package in "$@"; do has_package "$package" || printf '%s\n' "$package"; done
}

# Makes the machine ready to build: Swift, and the libraries of Debian.
prepare() {
    find_swift
    local missing
    mapfile -t missing < <(missing_of "${needed_packages[@]}")
    [ ${#missing[@]} -eq 0 ] && return
    say "huddle: installing ${missing[*]} ..."
    install_packages "${missing[@]}"
    mapfile -t missing < <(missing_of "${needed_packages[@]}")
    [ ${#missing[@]} -eq 0 ] && return
    if command -v apt-get >/dev/null 2>&1; then
        cannot "${missing[*]}: missing, and could not be installed from here." \
            "As root (or behind sudo) run this, then try again:" \
            "  apt-get update && apt-get install -y ${missing[*]}"
    fi
    cannot "missing: libsodium with its headers, and pkg-config." \
        "Install them with this system's package manager (libsodium-devel, libsodium or" \
        "libsodium-dev; pkgconf or pkg-config), then try again."
}

# What some tests use beside that. Without it they are skipped and say so.
prepare_tests() {
    prepare
    local missing
    mapfile -t missing < <(missing_of "${test_packages[@]}")
    if [ ${#missing[@]} -gt 0 ]; then
        say "huddle: installing ${missing[*]} for some tests ..."
        install_packages "${missing[@]}" ||
            say "huddle: without ${missing[*]} some tests are skipped."
    fi
    prepare_python
}

# Finds or makes a Python that has another implementation of Noise, for the cross-check. It lives in
# the build folder; without a network the test is skipped and says so.
prepare_python() {
    local own=$root/.build/python
    "${HUDDLE_PYTHON:-python3}" -c 'import noise' 2>/dev/null && return
    if ! "$own/bin/python3" -c 'import noise' 2>/dev/null; then
        command -v python3 >/dev/null 2>&1 || return
        {
            rm -rf "$own"
            mkdir -p "$root/.build"
            timeout 60 python3 -m venv "$own" &&
                timeout 120 "$own/bin/python3" -m pip install -q noiseprotocol
        } >/dev/null 2>&1 || return
    fi
    export HUDDLE_PYTHON=$own/bin/python3
}

# The strict build: warnings are errors, and every module leaves its symbol graph,
# internal names included: comments are for readers of the code.
# The flag changes the manifest, so this build has a place of its own.
strict_path=.build-strict
graphs=$root/$strict_path/documentation/graphs
strict_build() {
    mkdir -p "$graphs"
    HUDDLE_STRICT=1 swift build --scratch-path $strict_path \
        --explicit-target-dependency-import-check error \
        -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$graphs" \
        -Xswiftc -symbol-graph-minimum-access-level -Xswiftc internal \
        -Xswiftc -symbol-graph-skip-synthesized-members "$@"
}

# phase NAME SECONDS COMMAND…: runs a command with a time limit, keeps its output, prints how it
# went; on a failure, the end of the output. Failures are counted and the next phase still runs.
phases_failed=()
logs=$root/.build/logs
started=$SECONDS
phase() {
    local name=$1 limit=$2 begin=$SECONDS code
    shift 2
    mkdir -p "$logs"
    local log=$logs/${name// /-}.log
    printf '%-22s' "$name"
    timeout --foreground -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
    code=$?
    if [ $code -eq 0 ]; then
        printf 'ok      %4d s  %s\n' $((SECONDS - begin)) "$(summary_of "$log")"
        return 0
    fi
    [ $code -eq 130 ] && exit 130
    local why="exit $code"
    [ $code -eq 124 ] && why="not done after $limit s"
    printf 'FAILED  %4d s  %s\n' $((SECONDS - begin)) "$why"
    causes_of "$log" | head -n 60 | sed 's/^/    /'
    printf '    the whole log: %s\n' "$log"
    phases_failed+=("$name")
    return $code
}

# The lines of a log that say why: errors with their places, failed claims with their comments; the
# end of the log where there are none.
causes_of() {
    local causes
    causes=$(awk '
        /error: |warning: / { print; place = 1; next }
        place && /^ *-->/ { print; place = 0; next }
        /recorded an issue/ { sub(/^.*✘ /, "✘ "); print; remark = 1; next }
        remark && /↳/ { print "    " $0; next }
        { remark = 0 }' "$1" | awk '!seen[$0]++')
    if [ -n "$causes" ]; then printf '%s\n' "$causes"; else tail -n 30 "$1"; fi
}

# The line of a log that sums it up, if it has one.
summary_of() {
    sed -n -e 's/^.*\(Test run with .* passed\).*$/\1/p' -e 's/^verdict: *//p' "$1" | tail -n 1
}

# Prints the one line that says how everything went, and ends.
verdict() {
    local what=$1 time=$((SECONDS - started))
    if [ ${#phases_failed[@]} -eq 0 ]; then
        printf '%s: everything passed in %d min %02d s\n' "$what" $((time / 60)) $((time % 60))
        exit 0
    fi
    local names
    printf -v names '%s, ' "${phases_failed[@]}"
    printf '%s: FAILED (%s) after %d min %02d s; logs in %s\n' "$what" "${names%, }" \
        $((time / 60)) $((time % 60)) "$logs"
    exit 1
}
