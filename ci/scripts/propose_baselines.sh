#!/usr/bin/env bash
# Open a pull request that puts refreshed baselines into the repository, for a person to merge.
#
#   ci/scripts/propose_baselines.sh FRESH      folder of baselines, as --baseline-dir wrote them
#
# DRAFTGATE_PROFILE, PYTHON as in measure.sh; REASON: a line for the pull request; REFUSED: a file
# with what was not written and why, which goes into the pull request. Needs `gh` with GH_TOKEN, and
# a checkout whose `origin` may be pushed to.
#
# Exit codes: 0 proposed, or nothing to propose; 1 nothing was written because all was refused.
set -euo pipefail

fresh=${1:?usage: ci/scripts/propose_baselines.sh FRESH}
: "${DRAFTGATE_PROFILE:?set DRAFTGATE_PROFILE to the profile that was measured}"
python=${PYTHON:-.venv/bin/python}
refused=$(head -c 10000 "${REFUSED:-/dev/null}" | tr -d '`')
base=$(git rev-parse --abbrev-ref HEAD)
branch=baselines/$DRAFTGATE_PROFILE-$(date -u +%Y%m%d-%H%M%S)
body=$(mktemp)
trap 'rm -f "$body" "$body.diff"' EXIT

mkdir -p baselines # the first refresh of a repository has nothing to differ from
{
  printf 'Refreshed by %s on profile `%s`.\n' "${GITHUB_SERVER_URL:-CI}" "$DRAFTGATE_PROFILE"
  printf 'Reason: %s\n\n```\n' "$(tr -d '`' <<<"${REASON:-none given}")"
  "$python" -m draftgate.cli.main baselines diff baselines "$fresh" >"$body.diff"
  head -c 40000 "$body.diff"
  if [[ -n $refused ]]; then
    printf '```\n\nNot written:\n\n```\n%s\n' "$refused"
  fi
  printf '```\n\nRemarks of `draftgate baselines check`:\n\n```\n'
  # Errors stand in the pull request; a person decides.
  "$python" -m draftgate.cli.main baselines check "$fresh" --profile "$DRAFTGATE_PROFILE" |
    head -c 10000 || true
  printf '```\n'
} >"$body"

rm -rf baselines
cp -r "$fresh" baselines
git add --all baselines
if git diff --cached --quiet; then
  echo "propose_baselines.sh: nothing changed, so there is nothing to propose" >&2
  if [[ -n $refused ]]; then
    echo "$refused" >&2
    exit 1
  fi
  exit 0
fi
git checkout --quiet -b "$branch"
git -c user.name=draftgate -c user.email=draftgate@localhost \
  commit --quiet --message "Baselines of $DRAFTGATE_PROFILE refreshed"
git push --quiet origin "HEAD:refs/heads/$branch"
gh pr create --base "$base" --head "$branch" --body-file "$body" \
  --title "Baselines of $DRAFTGATE_PROFILE refreshed"
