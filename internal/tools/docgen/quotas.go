package main

import (
	"fmt"
	"strconv"
	"strings"

	"maestro/engine"
	"maestro/service"
)

// quotasSection lists what each caller may use, with the defaults.
func quotasSection() string {
	var b strings.Builder
	b.WriteString("\n## Quotas\n" + `
Most quotas are checked before a request is parsed. Those that count what exists or what a command creates are checked
before the command is decided. Quotas are not part of the rules: a call above a quota is neither decided nor recorded,
and a log verifies whatever the quotas were. A caller above a quota gets 429 with ` + "`Retry-After`" + `, in seconds:
` + "`RATE_LIMITED`" + ` if it only has to wait, ` + "`QUOTA_EXCEEDED`" + ` if something has to end first. The CLI
waits and tries again for up to 20 seconds, even if the server is too busy to identify itself (429 or 503 to
` + "`GET /identity`" + `). After that it keeps a session's report for the session's next command, because nothing was
sent yet.

A quota of an address slows calls down: a call above it is answered after a second, and stays open until then.
` + "`GET /identity`" + ` is never refused. A call that proves
that it holds a valid credential never waits; naming one is not enough. A call without a valid credential gets 429 above
` + "`address-calls`" + `. On the server's own machine, where all programs share one address, it gets 401 instead, as if
there were no quota. A call with a valid credential counts against no address.

The answer to a call above a rate, or with no room for a call in progress, is delayed in the same way. A call that is
delayed, or waits for its turn, ends at once when its client leaves. At most 256 calls of one credential or one
address are delayed at a time, 512 of all sessions of a root or of all callers without a valid credential, and 1,024 in
all. A call above that is answered at once, and its connection is closed. The number of connections bounds the
calls of ` + "`GET /identity`" + ` that wait.

` + "`maestro serve --set-limit NAME=VALUE`" + ` changes a quota; a rate also takes ` + "`NAME=RATE/BURST`" + `, and 0
means no limit. ` + "`maestro audit limits`" + ` shows the quotas in force and what each has refused or slowed down.
` + "`maestro audit can ACTOR COMMAND`" + ` shows what an actor has left.

A project that a session creates has no quotas of its own. It counts against its root: the project of that session, or
the root of that project if a session created it too. So each ` + "`project-…`" + ` quota bounds a root together
with all projects below it, and they share one part of the recorded refusals and of the connections. A project that a
user or a token creates is its own root. A spawn or a project that is refused is not counted.

A command, or a dry run of one, also counts by its work, so that a few large ones cost as much as many small ones. A
step of work is a look-up by the decision or by the fold of its event, or 160 bytes of a manifest that is read or made.
Every ` + grouped(service.StepsPerCommand) + ` steps count as one more command. They are charged afterwards, whether
the command succeeds or not: an account may go into debt, and its next command then gets 429. A spawn with 20 tasks
counts as one or two commands.

A read counts by its work in the same way: every ` + grouped(service.StepsPerRead) + ` look-ups in the state, or steps
of a scan, count as one more read. A page of a list costs what it shows; a filter that few items pass also costs the
scan of what it skips. A read that takes more than ` + grouped(engine.ReadMost) + ` steps at one time, or a list that
takes as many in all, gets 413 READ_TOO_LARGE: ask for a page (` + "`?limit=`" + `), one project, or a part of the
tree. The inbox and the status of a project instead show what was found so far, and name what they left out.

The server never removes an uploaded manifest, even if no event names it. The ` + "`…-uploads`" + ` quotas bound how
fast the disk fills: by at most 128 KiB a second, or 10.5 GiB a day, for all sessions of a root.

| quota | a second | at once | bounds |
|---|---|---|---|
`)
	for _, q := range service.Quotas() {
		rate, most := "", grouped(int64(q.Value))
		if q.Value != float64(int64(q.Value)) {
			most = strconv.FormatFloat(float64(q.Value), 'g', -1, 64)
		}
		if q.Burst > 0 {
			rate, most = most, grouped(int64(q.Burst))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", q.Name, rate, most, q.About)
	}
	b.WriteString(`
Each connection takes one of the process's open files, and so does each block of the store. At its start the server
reads the limit of open files (` + "`ulimit -n`" + `) and keeps a reserve for the store: half of the limit, but at most
1,024 files. Where less than the default of ` + "`server-connections`" + ` is left, it lowers that default;
` + "`maestro audit limits`" + ` shows the value in force and why. It refuses to start if
` + "`--set-limit server-connections=`" + ` asks for more than is left, or for no limit (0) although open files are
limited, or if the process may open fewer than 128 files.
`)
	fmt.Fprintf(&b, `
## Answers

An answer is sent in parts while it is rendered. A part that is not read within 30 seconds ends the connection, so a
client has to read at least 8 KiB a second. An answer for which %s has no room gets 429.

Lists have pages: %s sets the number of items, %s by default and at most %s, and the header %s holds the cursor of the
next page, if there is one. The lists of projects, tasks, sessions and templates, which older clients know, and the
items within a queue come whole unless a limit or a cursor is given. For a timeline and for the refusals, a limit
without a cursor gives the newest entries; without a limit, or with an empty cursor, the first page begins with the
oldest. The CLI reads all pages.

All recorded refusals can be listed, up to 10,000. They are in the order of their `+"`number`"+`, which never changes: a
refusal that arrives while a client reads page by page comes last, and one that was dropped meanwhile is left out.
`, "`session-answers`", "`limit`", grouped(service.PageUsual), grouped(service.PageMost), "`Maestro-Next`")
	return b.String()
}
