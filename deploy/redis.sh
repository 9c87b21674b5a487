#!/bin/sh
# Becomes the Redis server that its arguments name, with redis.conf and the passwords in the environment:
#   sh deploy/redis.sh redis-server --dir /data
set -eu
hashes=
for role in MATCH ENGINE ARCHIVE OBSERVER OPERATOR; do
  password=$(printenv "REDIS_${role}_PASSWORD") || password=
  if [ -z "$password" ]; then
    echo "REDIS_${role}_PASSWORD: is not set; put 32 or more random characters there" >&2
    exit 1
  fi
  hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
  hashes="$hashes;s/\\\$REDIS_${role}_SHA256/$hash/"
done
# Redis takes the configuration from its standard input: no file of hashes is left anywhere.
exec "$@" - <<END
$(sed "${hashes#;}" "$(dirname "$0")/redis.conf")
END
