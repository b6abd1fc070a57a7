#!/usr/bin/env bash
# Check the C++ runtime for longer than every test run can: clang-tidy, 10,000 frames with resizes and a
# fuzzer, both under sanitizers. Needs clang, clang-tidy and what the tests need. About half an hour.
#
#   tests/runtimes/cpp/at_length.sh [SECONDS]    fuzz for so long, by default 900
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
runtime=runtime_glue/cpp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fixtures=$work/schedules
PYTHONPATH=tests python3 -m schedules "$fixtures"

echo "clang-tidy"
for source in "$runtime"/src/*.cpp; do
    clang-tidy --quiet "$source" -- -std=c++17 -I"$runtime/include" -I"$runtime/src" \
        -fno-exceptions 2> /dev/null
done

echo "10,000 frames"
cmake -S tests/runtimes/cpp -B "$work/frames" > /dev/null
cmake --build "$work/frames" --target behaviour > /dev/null
mkdir "$work/scratch"
EGL_PLATFORM=surfaceless LP_NUM_THREADS=0 \
    "$work/frames/behaviour" "$fixtures" "$work/scratch" --frames 10000

echo "fuzzing"
CXX=clang++ cmake -S tests/runtimes/cpp -B "$work/fuzz" -DFUZZ=ON -DCMAKE_BUILD_TYPE=Release > /dev/null
cmake --build "$work/fuzz" --target fuzz > /dev/null
mkdir "$work/corpus"
for build in good good_dynamic good_external malformed/compute_in_glsl_300; do
    cp "$fixtures/$build/schedule.json" "$work/corpus/${build//\//_}"
done
python3 - runtime_glue/schedule.schema.json > "$work/words" << 'END'
import re, sys
for word in sorted(set(re.findall(r'"([A-Za-z0-9_]+)"', open(sys.argv[1]).read()))):
    print(f'"\\"{word}\\""')
END
SHADERGEN_FUZZ_BUILD=$fixtures/good "$work/fuzz/fuzz" -dict="$work/words" -max_len=20000 \
    -max_total_time="${1:-900}" "$work/corpus" 2>&1 | tail -n 1
