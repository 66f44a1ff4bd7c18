package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// groupExamples are the examples of groups, for a first use.
var groupExamples = map[string]string{
	"audit": "maestro audit verify\nmaestro audit replay --task task_7k1y4\nmaestro audit export log.jsonl",
	"login": "maestro login list",
	"clock": "maestro clock show\nmaestro clock confirm",
	"input": "maestro input list --status open\nmaestro input answer input_3f9 \"Use the staging database\"",
	"manifest": `maestro manifest generate --task-ids task_7k1y4 --file manifest.json
maestro manifest show --session sess_4n8q2`,
	"orchestrator": "maestro orchestrator init",
	"plan":         "maestro plan apply plan.yaml --dry-run\nmaestro plan apply plan.yaml\nmaestro plan export",
	"project":      "maestro project create \"Web shop\"\nmaestro project use \"Web shop\"\nmaestro project list",
	"queue":        "maestro queue create nightly\nmaestro queue push task_7k1y4 --queue nightly\nmaestro queue status",
	"report": `maestro report progress "Wrote the tests" --task task_7k1y4
maestro report complete "Sign-in works; tests added" --task task_7k1y4`,
	"sandbox": `maestro sandbox check --workspace ~/ws/s1 --target ~/src/shop reboot`,
	"session": `maestro session spawn --task-ids task_7k1y4 -q
maestro session exec sess_4n8q2 -- ./claude-worker.sh
maestro session list --active`,
	"task": `maestro task create "Fix the sign-in" --criteria "The tests pass"
maestro task list --ready
maestro task complete task_7k1y4`,
	"task report": `maestro task report progress task_7k1y4 "Wrote the tests"
maestro task report complete task_7k1y4 "Sign-in works"`,
	"runner": `maestro runner list`,
	"skill": `maestro skill add ./reviewing
maestro skill list`,
	"template": `maestro template list
maestro template get execute-simple
maestro template create "Careful worker" worker.txt --role worker`,
	"text": "maestro text get --event 42",
	"webhook": `maestro webhook create https://example.org/maestro
maestro webhook list`,
	"token": `maestro token create --name ci --kind auditor --expires 30d -q
maestro token list
maestro token revoke ci`,
	"worker": "maestro worker init",
}

// shownExamples are the examples of the help pages, by command.
var shownExamples = map[string]string{
	"":                  "maestro serve\nmaestro task list --ready\nmaestro inbox",
	"audit redact":      `maestro audit redact --event 42 --reason "It held a password"`,
	"audit can":         "maestro audit can sess_4n8q2 task:complete task_7k1y4",
	"audit denials":     "maestro audit denials --limit 20",
	"audit export":      "maestro audit export log.jsonl --texts",
	"audit head":        "maestro audit head",
	"audit limits":      "maestro audit limits",
	"audit diff":        "maestro audit diff --from 120 --to 180\nmaestro audit diff task_7k1y4 --from 2h",
	"audit replay":      "maestro audit replay task_7k1y4\nmaestro audit replay sess_4n8q2 --speed 60",
	"audit verify":      "maestro audit verify\nmaestro audit verify log.jsonl --oracle",
	"backup":            "maestro backup maestro.backup",
	"bench":             "maestro bench --rounds 3",
	"login end":         "maestro login end login_k3f9x2m7qa",
	"login list":        "maestro login list",
	"open":              "maestro open\nmaestro open --no-browser",
	"clock confirm":     "maestro clock confirm",
	"doctor":            "maestro doctor\nmaestro doctor --all\nmaestro doctor -o json",
	"clock show":        "maestro clock show",
	"commands":          "maestro commands\nmaestro commands --check task:create",
	"demo":              "maestro demo",
	"mcp":               "maestro mcp",
	"inbox":             "maestro inbox\nmaestro inbox --kind question",
	"input answer":      `maestro input answer input_3f9 "Use the staging database"`,
	"input get":         "maestro input get input_3f9",
	"input list":        "maestro input list",
	"input received":    "maestro input received msg_5t2",
	"input wait":        "maestro input wait --timeout 90s",
	"man":               "maestro man ~/.local/share/man/man1",
	"manifest generate": "maestro manifest generate --task-ids task_7k1y4 --file manifest.json",
	"manifest migrate": `maestro manifest migrate old.json --file new.json
maestro manifest migrate old.json --write`,
	"manifest schema":    "maestro manifest schema",
	"manifest show":      "maestro manifest show --session sess_4n8q2",
	"manifest validate":  "maestro manifest validate manifest.json",
	"sandbox check":      `maestro sandbox check --workspace ~/ws/s1 --target ~/src/shop reboot`,
	"orchestrator init":  "maestro orchestrator init",
	"plan apply":         "maestro plan apply plan.yaml --dry-run\nmaestro plan apply plan.yaml",
	"plan export":        "maestro plan export --project proj_9x2",
	"project create":     `maestro project create "Web shop"`,
	"project delete":     "maestro project delete proj_9x2",
	"project get":        "maestro project get",
	"project list":       "maestro project list -o jsonl",
	"project use":        "maestro project use \"Web shop\"",
	"project update":     `maestro project update proj_9x2 --name "Web shop"`,
	"queue complete":     "maestro queue complete",
	"queue create":       "maestro queue create nightly --max-attempts 2",
	"queue delete":       "maestro queue delete nightly",
	"queue fail":         `maestro queue fail "It does not build"`,
	"queue list":         "maestro queue list --queue nightly",
	"queue move":         "maestro queue move task_7k1y4 --queue nightly --first",
	"queue push":         "maestro queue push task_7k1y4 task_0c60n --queue nightly",
	"queue remove":       "maestro queue remove task_7k1y4 --queue nightly",
	"queue requeue":      "maestro queue requeue task_7k1y4 --queue nightly",
	"queue skip":         `maestro queue skip "needs a Mac"`,
	"queue start":        "maestro queue start --wait",
	"queue status":       "maestro queue status",
	"queue top":          "maestro queue top --queue nightly",
	"report blocked":     `maestro report blocked "The API key is missing" --task task_7k1y4`,
	"report complete":    `maestro report complete "Sign-in works; tests added" --task task_7k1y4`,
	"report error":       `maestro report error "The build fails on main" --task task_7k1y4`,
	"report needs-input": `maestro report needs-input "Which database?" --option staging --option local --wait`,
	"report progress":    `maestro report progress "Wrote the tests" --task task_7k1y4`,
	"import":             "maestro import log.jsonl --home newhome",
	"restore":            "maestro restore maestro.backup --home newhome",
	"salvage":            "maestro salvage --new-home newhome",
	"serve":              "maestro serve\nmaestro serve --listen 127.0.0.1:4000 --lease 2m",
	"session complete":   "maestro session complete",
	"session delete":     "maestro session delete sess_4n8q2",
	"session exec":       `maestro session exec sess_4n8q2 -- ./claude-worker.sh`,
	"session heartbeat":  "maestro session heartbeat sess_4n8q2",
	"session info":       "maestro session info sess_4n8q2 --timeline",
	"session kill":       "maestro session kill sess_4n8q2 --tree",
	"session link":       "maestro session link sess_4n8q2 task_7k1y4",
	"session list":       "maestro session list --active",
	"session message":    `maestro session message sess_4n8q2 "Stop after this task"`,
	"session note":       `maestro session note "Started the dev server" --session sess_4n8q2`,
	"session register":   "maestro session register",
	"session resume":     "maestro session resume sess_4n8q2",
	"session spawn":      "maestro session spawn --task-ids task_7k1y4 --model opus -q",
	"session unlink":     "maestro session unlink sess_4n8q2 task_7k1y4",
	"session update":     "maestro session update sess_4n8q2 --name Tester",
	"events": "maestro events --type task --actor sess_4n8q2\n" +
		`maestro events --text "rate limit" --from 2h`,
	"since":                   "maestro since\nmaestro since 2h",
	"status":                  "maestro status",
	"task block":              `maestro task block task_7k1y4 "The design is not decided"`,
	"task children":           "maestro task children task_7k1y4",
	"task complete":           "maestro task complete task_7k1y4 task_0c60n\nmaestro task complete --said-done",
	"task create":             `maestro task create "Fix the sign-in" --criteria "The tests pass" --priority high`,
	"task delete":             "maestro task delete task_7k1y4 --recursive",
	"task edit":               "maestro task edit task_7k1y4",
	"task get":                "maestro task get task_7k1y4 --timeline",
	"task import":             "maestro task import plan.yaml",
	"task list":               "maestro task list --ready\nmaestro task list --status blocked -o jsonl",
	"task move":               "maestro task move task_7k1y4 --after task_9m2x6",
	"task reopen":             `maestro task reopen task_7k1y4 "The test is still flaky"`,
	"task report blocked":     `maestro task report blocked task_7k1y4 "The API key is missing"`,
	"task report complete":    `maestro task report complete task_7k1y4 "Sign-in works"`,
	"task report error":       `maestro task report error task_7k1y4 "The build fails"`,
	"task report needs-input": `maestro task report needs-input task_7k1y4 "Which database?"`,
	"task report progress":    `maestro task report progress task_7k1y4 "Wrote the tests"`,
	"task tree":               "maestro task tree --order dependencies",
	"task update":             "maestro task update task_7k1y4 --priority critical",
	"template create":         `maestro template create "Careful worker" worker.txt --role worker`,
	"template delete":         "maestro template delete tmpl_2b7",
	"text get":                "maestro text get --event 42",
	"template get":            "maestro template get tmpl_2b7",
	"runner list":             "maestro runner list",
	"session logs":            "maestro session logs sess_k3f9x2m7qa --follow",
	"skill add":               "maestro skill add ./reviewing",
	"skill list":              "maestro skill list",
	"skill remove":            "maestro skill remove reviewing",
	"template list":           "maestro template list",
	"template reset":          "maestro template reset tmpl_2b7",
	"template update":         "maestro template update tmpl_2b7 --name Careful",
	"token create":            "maestro token create --name ci --kind auditor --expires 30d -q",
	"token list":              "maestro token list",
	"token revoke":            "maestro token revoke ci",
	"track-file":              "maestro track-file internal/auth/login.go",
	"version":                 "maestro version --json",
	"watch":                   "maestro watch\nmaestro watch --session sess_4n8q2 -o jsonl",
	"webhook create":          "maestro webhook create https://example.org/maestro --types task,session.lost",
	"webhook delete":          "maestro webhook delete hook_7k1y4",
	"webhook get":             "maestro webhook get hook_7k1y4",
	"webhook list":            "maestro webhook list",
	"webhook resume":          "maestro webhook resume hook_7k1y4 --skip",
	"webhook secret":          "maestro webhook secret hook_7k1y4",
	"webhook test":            "maestro webhook test hook_7k1y4",
	"webhook update":          "maestro webhook update hook_7k1y4 --url https://example.org/new",
	"whoami":                  "maestro whoami",
	"why":                     "maestro why task_7k1y4",
	"worker init":             "maestro worker init",
}

// exemplify adds the example of each command.
func exemplify(cmd *cobra.Command) {
	for _, verb := range cmd.Commands() {
		exemplify(verb)
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	cmd.Example = indented(shownExamples[name] + groupExamples[name])
}

func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
