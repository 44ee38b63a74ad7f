"""Prints tokens.json: what botocore signs for fixed inputs at a fixed time.

    python3 -m venv /tmp/botocore && /tmp/botocore/bin/pip install botocore==1.44.8
    /tmp/botocore/bin/python tokens.py > tokens.json
"""

import datetime
import json

import botocore.auth
import botocore.session

AT = datetime.datetime(2026, 3, 4, 5, 6, 7, tzinfo=datetime.timezone.utc)

# AWS's documented example credentials, and a session token with every character that a URL has to escape.
KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SESSION = "IQoJb3JpZ2luX2VjE//////////wEaCXVzLWVhc3QtMSJHMEUCIQ+/==~_- *'()"

CASES = [
    ("kiabuc6ayqpfkhm5dr6wlhbr7e.dsql.eu-central-1.on.aws", "eu-central-1", "DbConnect", 900, SESSION),
    ("kiabuc6ayqpfkhm5dr6wlhbr7e.dsql.eu-central-1.on.aws", "eu-central-1", "DbConnectAdmin", 900, SESSION),
    ("foo0bar1baz2quux3quux4quux.dsql.us-east-1.on.aws", "us-east-1", "DbConnect", 60, None),
]


def fixed_time(*_, **__):
    return AT


botocore.auth.get_current_datetime = fixed_time

tokens = []
for host, region, action, expires, session_token in CASES:
    session = botocore.session.get_session()
    session.set_credentials(KEY, SECRET, session_token)
    client = session.create_client("dsql", region_name=region)
    sign = {"DbConnect": client.generate_db_connect_auth_token, "DbConnectAdmin": client.generate_db_connect_admin_auth_token}[action]
    token = sign(host, region, expires)
    assert "X-Amz-Date=20260304T050607Z" in token, token
    tokens.append(
        {"host": host, "region": region, "action": action, "expires": expires, "session_token": session_token or "", "token": token}
    )

print(json.dumps({"at": AT.isoformat(), "access_key": KEY, "secret_key": SECRET, "tokens": tokens}, indent=2))
