# Read by the demos' run.sh, which set $work. quietly LOG COMMAND...: the command's words go to $work/LOG.log, and are shown
# when it fails.
quietly()
{
    log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        echo "failed: $*" >&2
        return 1
    }
}
