# The steps of docs/control.md on four machines, each a network namespace of its own. "$1" is the program.
# "$certs", "$found" and "$restart" are commands of the page, for a machine with its own folder below /var/lib.
mkdir machine1 machine2 machine3 machine4
for i in 1 2 3 4; do mkdir machine$i/lib; done
cat > hosts <<'END'
127.0.0.1 localhost
10.78.0.1 a
10.78.0.2 b
10.78.0.3 c
10.78.0.4 d
END
for i in 1 2 3 4; do cp hosts machine$i/hosts; done
# Many machines have their own name for this.
sed -i 's/^10.78.0.1 a/127.0.1.1 a/' machine1/hosts
program=$1

# Certificates, made on one machine by the commands of the page; then each machine has the files of its node. The one that
# an invitation is for has those of node 3.
echo "$certs" | while read -r tokenwood command; do "$program" $command >> certs.out; done
for id in 3 4; do "$program" certs node $id >> certs.out; done
for i in 1 2 3 4; do cp certs/ca.pem certs/node-$((i - 1)).pem certs/node-$((i - 1)).key machine$i; done
export TOKENWOOD_CA=$PWD/certs/ca.pem
# files ID: the flags of that node.
folder=$PWD/certs
files() { echo "--certificate $folder/node-$1.pem --key $folder/node-$1.key"; }
# on MACHINE ARGUMENTS...: the program on that machine, in its own folder.
on() {
    machine=$1
    shift
    (cd machine$machine && exec ip netns exec m$machine \
        sh -c 'mount --bind hosts /etc/hosts; exec "$@"' on "$program" "$@")
}
# until WHAT COMMAND...: tries until the command succeeds.
until_so() {
    what=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || { echo "never: $what" >&2; exit 9; }
        sleep 0.1
    done
}
# start MACHINE ARGUMENTS...: a node on that machine.
start() {
    machine=$1
    shift
    (cd machine$machine && exec ip netns exec m$machine \
        sh -c 'mount --bind hosts /etc/hosts; mount --bind lib /var/lib; exec "$@"' on "$program" node "$@") \
        >> node$machine.out 2>> node$machine.log &
    eval "node$machine=\$!"
}
members_are() { [ "$(on $1 members --format json 2>&1 | grep -o '"member":true' | wc -l)" = $2 ]; }

# Found a cluster: the first is alone for a while, and says what it waits for.
start 1 ${found#tokenwood node }
until_so "the first waits" grep -q "waiting for a majority: 1 of 3 voters" node1.log
on 1 members > alone-members.out 2>&1 || echo "exit $?" >> alone-members.out
on 1 status > alone-status.out 2>&1 || echo "exit $?" >> alone-status.out
on 1 health > alone-health.out 2>&1 || echo "exit $?" >> alone-health.out
for i in 2 3; do start $i $(echo "${found#tokenwood node }" | sed "s/--id 0/--id $((i - 1))/; s/node-0/node-$((i - 1))/g"); done
# The founder says where the token of the principal 'admin' is.
until_so "the first token" grep -q "is in /var/lib/tokenwood/admin-token" node1.out
export TOKENWOOD_TOKEN=$(cat machine1/lib/tokenwood/admin-token)
for i in 1 2 3; do until_so "three members at $i" members_are $i 3; done

# Status from each; a lock on one is seen from the others.
grant=$(on 1 acquire backup --quiet --ttl 60s)
for i in 1 2 3; do
    on $i status > status$i.out 2>&1 || echo "exit $?" >> status$i.out
    on $i locks > locks$i.out 2>&1 || echo "exit $?" >> locks$i.out
    on $i health > health$i.out 2>&1 || echo "exit $?" >> health$i.out
done
on 1 release $grant

# Restart with nothing but the folder.
kill $node2
wait $node2 || true
until_so "two members" members_are 1 2
on 1 status > away.out 2>&1 || echo "exit $?" >> away.out
start 2 ${restart#tokenwood node }
until_so "three members again" members_are 1 3

# One more node, by the command that the invitation prints.
on 1 members invite > invite.out
command=$(grep -o 'tokenwood node .*' invite.out)
export $(grep -o 'TOKENWOOD_JOIN=[^ ]*' invite.out)
start 4 ${command#tokenwood node }
unset TOKENWOOD_JOIN
until_so "four members" members_are 4 4
on 4 status --endpoint a > status-four.out 2>&1 || echo "exit $?" >> status-four.out

# An invitation that is listed and withdrawn.
on 1 members invite --quiet > withdrawn.out
on 2 members invite --list > list.out
on 2 members invite --withdraw 4
on 2 members invite --list > list-after.out

# Remove it again.
kill $node4
wait $node4 || true
until_so "three members without it" members_are 1 3
on 1 members remove 3 > remove.out
on 1 members > members-end.out 2>&1 || echo "exit $?" >> members-end.out
# Its folder comes back, and is told.
start 4 --data tokenwood-3
until_so "the removed node is told" grep -q "node 3 was removed from the cluster" node4.log
kill -9 $node4
wait $node4 || true

# What cannot be is told at the start.
refused() {
    name=$1
    shift
    if on 4 node "$@" > $name.out 2>&1; then echo "exit 0"; else echo "exit $?"; fi >> $name.out
}
refused plain --id 0 --data other0 --member 0=d:7700,1=b:7700
refused wrong-certificate --id 0 --data other0 --member 0=d:7700,1=b:7700 $(files 1)
refused loopback-clients --id 0 --data other0 --member 0=d:7700,1=b:7700 --clients 127.0.0.1:7710 $(files 0)
refused loopback-peers --id 0 --data other0 --member 0=127.0.0.1:7700,1=b:7700 $(files 0)
refused every-address --id 0 --data other0 --member 0=0.0.0.0:7700,1=b:7700 $(files 0)
refused used-id --id 1 --data other1 --member 0=a:7700,1=d:7700,2=c:7700 $(files 1)
refused lowest-used --id 0 --data other2 --member 0=d:7700,1=b:7700,2=c:7700 $(files 0)
refused withdrawn --data other3 --join $(cat withdrawn.out) $(files 4)

# A caller without the CA, and one that does not encrypt, get nothing.
(unset TOKENWOOD_CA; on 1 locks --endpoint b) > plain-client.out 2>&1 || echo "exit $?" >> plain-client.out
