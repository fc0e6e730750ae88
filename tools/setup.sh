# Debian 12 packages that building, testing and the demo need; sourced by demo, check and .ci/run.
# Installs only what is missing, so a second run needs neither root nor a network.

readonly SHARDWISE_BUILD_PACKAGES=(
  g++ cmake ninja-build ccache pkg-config
  nlohmann-json3-dev libcli11-dev libfmt-dev libspdlog-dev libpcre2-dev libhwloc-dev
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  python3 python3-pip ca-certificates
)
readonly SHARDWISE_CHECK_PACKAGES=(clang-format-14 clang-tidy-14)

# is_installed PACKAGE: true when dpkg has it whole.
is_installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

# install_missing PACKAGE...: through apt, as root or with sudo.
install_missing() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is not Debian; install by hand what is not there of: $*" >&2
    return 0
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return 0
  echo "setup: installing ${missing[*]}" >&2
  local as_root=()
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || { echo "setup: apt-get needs root; run as root or install sudo" >&2; return 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# stage TITLE COMMAND...: runs the command and says on stderr what it is and how long it took.
stage() {
  local title="$1" began=$SECONDS
  shift
  echo "== $title" >&2
  "$@"
  echo "== $title: done in $((SECONDS - began)) s" >&2
}

# cpp_sources: the C++ files of the repository, each ended by a NUL.
cpp_sources() {
  find shardwise apps tests bench \( -name '*.h' -o -name '*.cpp' \) -print0
}
