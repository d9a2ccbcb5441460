#!/usr/bin/env bash
# One perf run, or one shard of it: JUnit and results under OUT, for judge.sh to judge.
#
#   ci/scripts/measure.sh OUT [pytest arguments...]
#
# DRAFTGATE_PROFILE  the profile (required: a judge on another machine must mean the same one)
# SHARD              i/n; on Buildkite it follows from the parallel job
# PYTHON             interpreter, default .venv/bin/python
#
# Exit codes: 0 measured, whatever the verdicts; 1 no measurement.
set -euo pipefail

out=${1:?usage: ci/scripts/measure.sh OUT [pytest arguments...]}
shift
: "${DRAFTGATE_PROFILE:?set DRAFTGATE_PROFILE to the profile to measure}"
python=${PYTHON:-.venv/bin/python}
shard=${SHARD:-}
if [[ -z $shard && ${BUILDKITE_PARALLEL_JOB_COUNT:-1} -gt 1 ]]; then
  shard="$((BUILDKITE_PARALLEL_JOB + 1))/$BUILDKITE_PARALLEL_JOB_COUNT"
fi
name=${shard:+shard-${shard/\//-of-}}
name=${name:-whole}
mkdir -p "$out"

code=0
"$python" -m pytest -m perf perf_tests --profile "$DRAFTGATE_PROFILE" \
  --junitxml "$out/junit-$name.xml" --perf-json "$out/results-$name" \
  ${shard:+--shard "$shard"} "$@" || code=$?

# pytest: 0 all passed, 1 some failed, which the gate judges; the rest is no measurement.
if ((code > 1)); then
  echo "measure.sh: pytest ended with exit code $code, nothing to judge" >&2
  exit 1
fi
