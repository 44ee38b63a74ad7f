#!/usr/bin/env bash
# Runs Aurora DSQL's own linter on the migrations as they are rendered for it (testdata/dsql.sql, which a test compares)
# and on every statement that sqlc generated.
source "$(dirname "$0")/../../../infra/tool.sh"

bin=$(venv dsql-lint dsql-lint==0.2.22)
queries=$(mktemp --suffix .sql)
trap 'rm -f "$queries"' EXIT
python3 - "$root"/shared/store/internal/pgq/*.sql.go >"$queries" <<'PY'
import re, sys
count = 0
for path in sys.argv[1:]:
    for text in re.findall(r"^const \w+ = `-- name: [^\n]*\n(.*?)`", open(path).read(), re.S | re.M):
        print(text.strip().rstrip(";") + ";\n")
        count += 1
sys.exit(0 if count > 50 else "only %d statements were found" % count)
PY
"$bin/dsql-lint" "$root/shared/store/schema/testdata/dsql.sql" "$queries"
