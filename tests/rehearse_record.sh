#!/usr/bin/env bash
# rehearse_record.sh <root> [<architectures> [<options of record.sh>...]]: validation/record.sh in a bare
# container builds every program, and gets as far as that there is no device. <root> is a system with
# g++ and little else, as `debootstrap --variant=minbase --include=g++ bookworm <root>` makes one; the
# CUDA toolkit of this machine is mounted into it, and there is no network. Run by hand, as root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$(cd "$1" && pwd)
architectures=${2:-80 90a 100 120}
toolkit=$(readlink -f "${CUDA_HOME:-/usr/local/cuda}")
for tool in cmake ninja make gnuplot python3 nvcc; do
  if chroot "$root" bash -c "command -v $tool" >/dev/null; then echo "rehearse: $tool is there"; exit 1; fi
done
rm -rf "$root"/perfmodel/{validation,run} "$root/out" && mkdir -p "$root/perfmodel" "$root/usr/local/$(basename "$toolkit")"
git -C "$here" archive HEAD validation run | tar -C "$root/perfmodel" -x
code=0
# shellcheck disable=SC2016
unshare --net --mount --pid --fork bash -c '
  set -e
  mount --bind -o ro "$2" "$1/usr/local/$(basename "$2")"
  mount -t proc proc "$1/proc"
  exec chroot "$1" env -i PATH=/usr/bin:/bin HOME=/root PERFMODEL_REVISION="$3" \
    bash /perfmodel/validation/record.sh /out --architectures "$4" --seconds 36000 "${@:5}"
' rehearse "$root" "$toolkit" "$(git -C "$here" rev-parse HEAD)" "$architectures" "${@:3}" || code=$?
ls -l "$root/out" "$root/perfmodel/build/kernels-native"/*.from
built=$(find "$root/perfmodel/build/kernels-native" -name '*.from' | wc -l)
all=$(find "$root/perfmodel/validation/kernels" -maxdepth 1 -name '*.cu' | wc -l)
echo "rehearse: exit status $code, $built of $all programs built for $architectures"
[[ $code -eq 77 && $built -eq $all ]]
