package main

import (
	"os"
	"os/exec"
	"strings"
)

// becoming is something that an agent tries, to become its user.
type becoming struct {
	// name says what, command how: it works if the command succeeds. The script of the agent says which words are
	// replaced in it.
	name, command string
	// never says why it does not work without confinement either; "" if it works then.
	never string
	// skipped says why it is not tried without confinement, nor then required to work.
	skipped string
	// needs is a program without which it cannot work.
	needs string
}

const (
	byAncestry = "whatever its environment is, a process that an agent started gets no token of the user"
	byRole     = "the role of a worker does not allow it"
	noSecret   = "an agent has no secret: the supervisor keeps it, behind the agent's socket"
)

// becomings are all that the agent tries. What needs another agent has one of its own.
var becomings = []becoming{
	{name: "read the token", command: `cat HOME_OF_MAESTRO/admin.token`},
	{name: "read the key", command: `cat HOME_OF_MAESTRO/server.key`},
	{name: "list the home", command: `[ -n "$(ls -A HOME_OF_MAESTRO)" ]`},
	{name: "unset variables", command: `$clean maestro token create --name eve1 --kind auditor`, never: byAncestry},
	{
		name: "unset variables, keep nothing",
		command: `env -i PATH="$PATH" HOME="$HOME" MAESTRO_API_URL=ADDRESS \
			maestro token create --name eve2 --kind auditor`,
		never: "there is no home of Maestro where it then looks",
	},
	{
		name:    "no token at all",
		command: `env -i PATH="$PATH" MAESTRO_API_URL=ADDRESS MAESTRO_HOME=/nonexistent maestro task list`,
		never:   "the server answers nobody without a token",
	},
	{
		name: "double fork",
		command: `(setsid bash -c "$clean maestro token create --name eve3 --kind auditor >double 2>&1
			echo \$? >code" &)
			for i in {1..400}; do [ -s code ] && break; read -t 0.05 <> <(:); done
			cat double; [ "$(cat code)" = 0 ]`,
		never: byAncestry,
	},
	{name: "nohup", command: `nohup $clean maestro token create --name eve4 --kind auditor`, never: byAncestry},
	{name: "a user's command", command: `maestro task complete TASK`, never: byRole},
	{name: "a runner's command", command: `maestro session kill OTHER`, never: byRole},
	{
		name: "its own secret", command: `maestro session exec $MAESTRO_SESSION_ID -- env | grep -q mss_`,
		never: noSecret,
	},
	{name: "a secret in the environment", command: `env | grep -qE 'ms[sur]_|TOKEN='`, never: noSecret},
	{
		name:    "a secret in another process",
		command: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -qE '^MAESTRO_TOKEN=ms[sur]_'`,
	},
	{
		name: "another process's memory",
		command: `read -r range rest </proc/SUPERVISOR/maps && [ -n "$range" ] &&
			dd if=/proc/SUPERVISOR/mem bs=1 count=1 skip=$((16#${range%%-*})) status=none | wc -c | grep -q 1`,
		skipped: whyNoTracing(),
	},
	{
		name:    "another session's socket",
		command: `MAESTRO_SOCKET=OTHER_SOCKET MAESTRO_SESSION_ID=OTHER maestro report progress stolen`,
		never:   "a socket serves only the processes that its own agent started",
	},
	{name: "another session's workspace", command: `cat WORKSPACES/OTHER/manifest.json`},
	{name: "a link to the home", command: `ln -s HOME_OF_MAESTRO link && cat link/admin.token`},
	{name: "a hard link to the token", command: `ln HOME_OF_MAESTRO/admin.token hard`},
	{name: "its manifest", command: `echo '{}' >"$MAESTRO_MANIFEST_PATH"`},
	{name: "the user's shell", command: `echo "touch $HOME/owned" >>"$HOME/.bashrc"`},
	{name: "the user's git", command: `git config --global core.hooksPath /tmp`},
	{name: "a hook of another repository", command: `echo x >OUTSIDE/.git/hooks/pre-commit`},
	{name: "a hook of its own repository", command: `echo x >.git/hooks/pre-commit`},
	{name: "another directory for its hooks", command: `git config core.hooksPath evil`},
	{name: "a program that git runs", command: `git config core.fsmonitor ./evil`},
	{
		name:    "a configuration in the place of git's",
		command: `cp .git/config c && echo x >>c && mv -f c .git/config`,
	},
	{name: "a repository in the place of its own", command: `mv .git old`},
	{name: "hooks in the place of its own", command: `mv .git/hooks old`},
	{
		name:    "a worktree without its hooks",
		command: `git worktree add -q wt && git -C wt config core.hooksPath evil`,
	},
	{name: "another file of the user", command: `echo x >OUTSIDE/file`},
	{
		// It replaces it by itself: a program that runs cannot be written to.
		name:    "the maestro program",
		command: `m=$(command -v maestro) && cp "$m" "$m.new" && mv -f "$m.new" "$m"`,
	},
	{
		name:    "a program that the user's shell finds",
		command: `mkdir -p "$HOME/bin" "$HOME/.local/bin" && echo x >"$HOME/.local/bin/maestro"`,
	},
	{
		name:    falseProgram,
		command: `IFS=:; for d in $PATH; do : >"$d/maestro-of-an-agent" && exit 0; done; exit 1`,
	},
	{
		name:    "a service of the user",
		command: `mkdir -p "$HOME/.config/systemd/user" && echo x >"$HOME/.config/systemd/user/x.service"`,
	},
	{
		name:    "what starts at a login",
		command: `mkdir -p "$HOME/.config/autostart" && echo x >"$HOME/.config/autostart/x.desktop"`,
	},
	{
		name:    "cron",
		command: `echo '* * * * * id' | crontab -`,
		needs:   "crontab",
		skipped: "it would replace the table of the person who runs the tests",
	},
	{
		name: "the tables of cron",
		command: `for d in /var/spool/cron /var/spool/cron/crontabs /etc/cron.d; do
			: >$d/maestro-of-an-agent && rm $d/maestro-of-an-agent && exit 0; done; exit 1`,
		skipped: whyNot("/var/spool/cron", "/var/spool/cron/crontabs", "/etc/cron.d"),
	},
	{
		name:    "at",
		command: `echo id | at now`,
		needs:   "at",
		skipped: "it would leave a job in the name of the person who runs the tests",
	},
	{
		name: "the jobs of at",
		command: `for d in /var/spool/at /var/spool/cron/atjobs /var/spool/atjobs; do
			: >$d/maestro-of-an-agent && rm $d/maestro-of-an-agent && exit 0; done; exit 1`,
		skipped: whyNot("/var/spool/at", "/var/spool/cron/atjobs", "/var/spool/atjobs"),
	},
	{name: "the configuration of agents", command: `echo '{}' >HOME_OF_MAESTRO/agents.json`},
	{
		name:    "a server of its own on the home",
		command: `timeout 5 $clean maestro serve --listen 127.0.0.1:0`,
		never:   "a process below an agent starts no server, and the home has one",
	},
	{
		name:    "the user's terminal multiplexer",
		command: `MAESTRO_SOCKET=MULTIPLEXER timeout 5 maestro whoami; [ -e reached ]`,
	},
	{name: "a window of the user's tmux", command: `tmux -S REAL_TMUX new-window id`, needs: "tmux"},
	{name: "replace its own socket", command: `rm "$MAESTRO_SOCKET" && touch "$MAESTRO_SOCKET"`},
	{name: "kill another's supervisor", command: `kill -9 SUPERVISOR`},
	{name: "kill supervisors by name", command: `pkill -9 -f agent-run.NAMED`},
}

// unshown returns what keeps an attempt from having to work without confinement on this machine; "" if nothing does.
func (b becoming) unshown() string {
	if b.never != "" {
		return "impossible: " + b.never
	}
	if b.needs != "" {
		if _, err := exec.LookPath(b.needs); err != nil {
			return b.needs + " is not installed"
		}
	}
	return b.skipped
}

// whyNot says why this user can write to none of these directories; "" if it can.
func whyNot(dirs ...string) string {
	for _, dir := range dirs {
		if file, err := os.CreateTemp(dir, "maestro-of-a-test-"); err == nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
			return ""
		}
	}
	return "this user can write to none of " + strings.Join(dirs, ", ")
}

// whyNoTracing says why this user may not read the memory of its processes; "" if it may.
func whyNoTracing() string {
	const setting = "/proc/sys/kernel/yama/ptrace_scope"
	scope, err := os.ReadFile(setting)
	if err != nil || strings.TrimSpace(string(scope)) == "0" || os.Geteuid() == 0 {
		return ""
	}
	return setting + " forbids it to this user"
}
