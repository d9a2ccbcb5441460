#!/usr/bin/env bash
# The gate over the JUnit of a run or of all its shards; leaves OUT/report.md.
#
#   ci/scripts/judge.sh OUT [JUNIT...]      default: OUT/junit-*.xml
#
# DRAFTGATE_PROFILE and PYTHON as in measure.sh. A run of another commit than DRAFTGATE_COMMIT
# (default: this checkout's; empty: any) proves nothing (exit code 3). The report also goes to the
# job's summary on GitHub, and becomes an annotation on Buildkite.
#
# Exit codes: those of `draftgate gate`: 0 pass, 1 tool error, 2 regression, 3 incomplete.
set -euo pipefail

out=${1:?usage: ci/scripts/judge.sh OUT [JUNIT...]}
shift
: "${DRAFTGATE_PROFILE:?set DRAFTGATE_PROFILE to the profile that was measured}"
python=${PYTHON:-.venv/bin/python}
if (($# == 0)); then
  shopt -s nullglob
  set -- "$out"/junit-*.xml
fi
mkdir -p "$out"
report=$out/report.md
errors=$out/gate-errors.txt

code=0
if (($# == 0)); then
  echo "no JUnit in $out: nothing was measured" >"$errors"
  code=1
elif ! commit=${DRAFTGATE_COMMIT-$(git rev-parse HEAD)}; then
  echo "git does not know this checkout's commit; set DRAFTGATE_COMMIT" >"$errors"
  code=1
else
  "$python" -m draftgate.cli.main gate "$@" --profile "$DRAFTGATE_PROFILE" \
    ${commit:+--commit "$commit"} --format markdown >"$report" 2>"$errors" || code=$?
fi
cat "$errors" >&2
if ((code != 0 && code != 2 && code != 3)); then
  printf '**TOOL ERROR: the gate could not judge.**\n\n```\n%s\n```\n' \
    "$(tr -d '`' <"$errors" | head -c 2000)" >"$report"
  code=1
fi

cat "$report"
if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
  cat "$report" >>"$GITHUB_STEP_SUMMARY"
fi
if [[ ${BUILDKITE:-} == true ]]; then
  styles=([0]=success [1]=error [2]=error [3]=warning)
  buildkite-agent annotate --context "perf-$DRAFTGATE_PROFILE" --style "${styles[code]}" <"$report"
fi
exit "$code"
