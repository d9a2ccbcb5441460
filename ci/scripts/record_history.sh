#!/usr/bin/env bash
# Append results to the history on a branch of its own, and show its change points.
#
#   ci/scripts/record_history.sh RESULTS [BRANCH]      default branch: perf-history
#
# The history is a file on an orphan branch, so that it neither expires nor grows the main branch.
# Needs a checkout whose `origin` may be pushed to. PYTHON as in measure.sh.
set -euo pipefail

results=${1:?usage: ci/scripts/record_history.sh RESULTS [BRANCH]}
branch=${2:-perf-history}
python=${PYTHON:-.venv/bin/python}
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT

if git ls-remote --exit-code --heads origin "$branch" >/dev/null; then
  git fetch --quiet origin "$branch"
  git worktree add --quiet --detach "$tree" FETCH_HEAD
else
  git worktree add --quiet --detach "$tree"
  git -C "$tree" checkout --quiet --orphan "new-$branch"
  git -C "$tree" rm -rf --quiet .
fi

"$python" -m draftgate.cli.main history add "$results" --history "$tree/history.jsonl"
git -C "$tree" add history.jsonl
if ! git -C "$tree" diff --cached --quiet; then
  git -C "$tree" -c user.name=draftgate -c user.email=draftgate@localhost \
    commit --quiet --message "Run of $(date -u +%F)"
  git -C "$tree" push --quiet origin "HEAD:refs/heads/$branch"
fi

shown=$("$python" -m draftgate.cli.main history show --history "$tree/history.jsonl")
echo "$shown"
if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
  printf '### Change points\n\n```\n%s\n```\n' "$shown" >>"$GITHUB_STEP_SUMMARY"
fi
