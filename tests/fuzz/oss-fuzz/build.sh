#!/bin/bash -eu
# $CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE, $OUT and $WORK are those of OSS-Fuzz.
cmake -G Ninja -S "$SRC/perfmodel" -B "$WORK/build" \
  -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$CXXFLAGS" \
  -DPERFMODEL_BUILD_EXAMPLES=ON -DPERFMODEL_BUILD_FUZZ=ON \
  -DPERFMODEL_LIBFUZZER=ON "-DPERFMODEL_FUZZING_ENGINE=$LIB_FUZZING_ENGINE"
cmake --build "$WORK/build" --target perfmodel_fuzz_targets

for program in "$WORK"/build/tests/fuzz/fuzz_*; do
  [[ -f $program && -x $program ]] || continue
  name=${program##*/fuzz_}
  cp "$program" "$OUT/"
  corpus=$SRC/perfmodel/tests/fuzz/corpus/$name
  [[ $name != config ]] || corpus=$SRC/perfmodel/tests/data/configs
  zip -q -j "$OUT/fuzz_${name}_seed_corpus.zip" "$corpus"/*
done
