/**
 * The three scripts of a sandbox, for bash. Their words come as arguments, never as text of the script.
 *
 * A *holder* has the name spaces of one workspace's folder as long as that is kept: its own users,
 * and mounts that no other process sees. Each command is a process of the holder's name spaces, which
 * becomes `bwrap`, and in the sandbox that makes, process 1 is the third script.
 */

/** Where the holder mounts what it holds. Any folder that all systems have will do: no other process sees the mount. */
export const scene = "/mnt";

/** Pages and names that the holder's own files take. */
const sceneOptions = "size=8m,nr_inodes=64,mode=0755";

/** What process 1 of a sandbox is, within it: a copy of bash that nobody there can read. */
export const firstProgram = "/run/bash";

/**
 * Takes the filter of system calls (as `printf` reads it), and holds a folder for a workspace until its standard input ends,
 * which it does when the service is gone.
 *
 * Its copy of bash can be run and not read: Linux lets no other program open the memory or the descriptors of a process
 * that runs one (https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html), also none of the same user. So a
 * command cannot become process 1, whose time is another one than its own.
 */
export const holderScript = `
set -e
umask 022
mount -nt tmpfs -o ${sceneOptions} scene ${scene}
cd ${scene}
mkdir workspace tmp shm etc
mount -nt tmpfs -o size=1m,nr_inodes=16,mode=0755 workspace workspace
printf "$1" > filter
cp /bin/bash bash
chmod 0111 bash
printf 'agent:x:1000:1000::/workspace:/bin/bash\\nnobody:x:65534:65534::/:/usr/sbin/nologin\\n' > etc/passwd
printf 'agent:x:1000:\\nnogroup:x:65534:\\n' > etc/group
printf '127.0.0.1 localhost sandbox\\n::1 localhost\\n' > etc/hosts
printf 'passwd: files\\ngroup: files\\nhosts: files\\n' > etc/nsswitch.conf
echo ready
read -r _
`;

/**
 * Makes the mounts that one command has, and becomes bubblewrap (whose words are the arguments from the fifth on). Takes
 * sizes and names of the workspace's mount (empty where they stay as they are), those of \`/tmp\` and \`/dev/shm\`, and how many bytes of each output leave it.
 *
 * Programs give way to the service, which watches them. What the program writes goes through pipes, because the streams of a process that Bun starts are sockets, which
 * \`/dev/stdout\` and \`/dev/stderr\` cannot open. What is too much ends here, and costs the service nothing.
 */
export const commandScript = `
set -e
[[ $1 = "" ]] || mount -nt tmpfs -o "remount,$1" workspace ${scene}/workspace
printf '%s ${scene}/%s tmpfs %s,mode=1777\\n' tmp tmp "$2" shm shm "$2" > ${scene}/fstab
mount -na -T ${scene}/fstab
bytes=$3 hasInput=$4
shift 4
if ((hasInput)); then exec < <(exec cat); else exec < /dev/null; fi
rest() { ! IFS= read -rd '' -n 1 _ || exec cat > /dev/null 2>&1; }
exec > >(head -c "$bytes"; rest) 2> >(head -c "$bytes" >&2; rest)
exec nice -n 10 bwrap "$@" 5< ${scene}/filter
`;

/**
 * Process 1 of the sandbox. It speaks with the service over descriptor 3 (it reads) and 4 (it writes), where each part
 * that is read says how long it is:
 *
 * 1. It reads names of files to remove, then archives of files to write, then 0. When there were any, it writes a list of all files.
 * 2. It writes \`begun\`, runs the command, and writes \`exit\` with its exit code.
 * 3. It ends everything that still runs, and writes a list of all files.
 * 4. It reads the names of the files that are asked for, and writes an archive of them.
 *
 * It has the rights of the program, so nothing of this is trusted by the service: it says no more than
 * what the program could write anyway.
 */
export const insideScript = `
exec 6>&2 2>/dev/null
umask 022
fail() { printf 'failed %s\\n' "$1" >&4; exit 1; }
list() {
  [[ -r . && -w . && -x . ]] || chmod u+rwx /workspace || fail list
  printf '\\0' >&4
  find . -mindepth 1 \\( -type d ! -perm -700 -exec chmod u+rwx {} \\; -o -type f ! -perm -400 -exec chmod u+r {} + -o -true \\) \\
    -printf '%y %s %m %i %C@ %P\\0' >&4 || fail list
  printf 'end\\0' >&4
}
changed=0
read -r bytes <&3 || fail protocol
if ((bytes)); then changed=1; head -c "$bytes" <&3 | xargs -0r rm -rf -- || fail remove; fi
while read -r bytes <&3 && ((bytes)); do
  changed=1
  head -c "$bytes" <&3 | tar --extract --no-same-owner --file=- || fail extract
done
if ((changed)); then list; sleep 0.01; fi
printf 'begun\\n' >&4
(
  ulimit -c 0 -t "$2" -n "$3" -u "$4" -f "$5" -d "$6" || exit 126
  exec /bin/bash -c "$1" bash 2>&6 3>&- 4>&- 6>&-
)
printf 'exit %s\\n' "$?" >&4
kill -KILL -1
exec 0<&- 1>&- 6>&-
list
read -r bytes <&3 || exit 0
if ((bytes)); then
  head -c "$bytes" <&3 | tar --create --format=pax --no-recursion --hard-dereference --null --verbatim-files-from --files-from=- --file=- >&4
fi
`;
