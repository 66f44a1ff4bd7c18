package apidoc

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"maestro/service/wire"
)

const about = "Every write is a command, `POST /api/commands/<id>`, and becomes at most one event of the log. " +
	"Reads are GET. Every call needs a token, except the health routes, `/identity` and this description."

const tagOlder = "Older clients"

// nouns are the groups of operations: the words with which ids begin, and what the group is about.
var nouns = []struct{ words, tag, about string }{
	{"project", "Projects", "A project has tasks, sessions and queues."},
	{"task", "Tasks", "The units of work, with the status that people decide and the one that agents report."},
	{"session track worker orchestrator", "Sessions", "An agent at work, or one that was."},
	{"report", "Reports", "What an agent says about its work."},
	{"queue", "Queues", "Tasks that several sessions work on, one after the other."},
	{"input inbox", "Questions and inbox", "What needs a person."},
	{"live events since why blob", "Log and live views", "What happened, and what happens."},
	{"manifest", "Manifests", "What a session is given at its start."},
	{"template", "Templates", "The texts from which prompts are made."},
	{"whoami commands command token login logout", "Permissions and tokens", "Who may do what."},
	{"audit backup", "Audit", "Verify and keep the log."},
	{"webhook", "Webhooks", "Send events to other programs."},
	{"runner sandbox preflight", "Runners", "What launches the agents of sessions, and what it says of them."},
	{
		"clock identity healthz readyz metrics mcp home openapi docs", "Server",
		"The state of the server, and this description.",
	},
}

// withoutLine are the summaries of commands that no command line sends: those of runners.
var withoutLine = map[string]string{
	"session:claim":    "Begin a run of a session: its runner launches the agent, and nobody else does",
	"session:exited":   "Say how the agent of a run ended",
	"session:usage":    "Add to what a session used",
	"sandbox:blocked":  "Record that a command of an agent was not allowed to run",
	"preflight:failed": "Record that a check before a launch failed, and ask what to do",
	"session:stuck":    "Record that a run looks stuck, or does not any more",
}

func tags() (all []*huma.Tag) {
	for _, noun := range nouns {
		all = append(all, &huma.Tag{Name: noun.tag, Description: noun.about})
	}
	return append(all, &huma.Tag{
		Name:        tagOlder,
		Description: "Routes that only older clients need. New programs use the commands.",
	})
}

// tagOf returns the group of an operation by the first word of its id.
func tagOf(id string) string {
	word, _, _ := strings.Cut(strings.ReplaceAll(id, ":", "-"), "-")
	for _, noun := range nouns {
		for _, known := range strings.Fields(noun.words) {
			if known == word {
				return noun.tag
			}
		}
	}
	panic("apidoc: " + id + " belongs to no group; see texts.go")
}

var requestHeaders = map[string]string{
	wire.HeaderKey:         "Idempotency key: a retry with the same key runs once",
	wire.HeaderClient:      "the name of the program, with its version",
	wire.HeaderTraceParent: "a W3C trace context, which the event keeps",
	wire.HeaderOccurredAt:  "when the command was said, if it was kept before it was sent: RFC 3339",
}

var answerHeaders = map[string]string{
	wire.HeaderSequence: "the sequence at which the answer was read, or that of the event",
	wire.HeaderNext:     "the cursor of the next page, if there is one",
	wire.HeaderRetried:  "true: an earlier call with the same key created the event",
	wire.HeaderDigest:   "the digest of the manifest",
	wire.HeaderLease:    "how long the session may be silent",
	wire.HeaderEnded:    "true: the session has ended",
	"Retry-After":       "when to call again, in seconds",
	"WWW-Authenticate":  "how to authenticate",
}

// headersOf are the further headers of an answer, by the route's name.
var headersOf = map[string][]string{
	"session-manifest":  {wire.HeaderDigest},
	"session-heartbeat": {wire.HeaderLease, wire.HeaderEnded},
}

// refusals are the answers to a call that is refused, by status.
var refusals = map[int]struct {
	name, doc, header string
	example           map[string]any
}{
	400: {"Invalid", "A field or a parameter is missing or wrong.", "", problem(
		"VALIDATION_ERROR", "Project name is required", "a field is missing or wrong", "correct it and send it again",
	)},
	401: {"Unauthenticated", "There is no token, or it is not valid.", "WWW-Authenticate", problem(
		"UNAUTHENTICATED", "A token is required", "the request has no Authorization header",
		"send `Authorization: Bearer <token>`",
	)},
	403: {"NotAllowed", "The caller may not do this; the answer says what it may do instead.", "", problem(
		"NOT_ALLOWED", "Command 'task:complete' is not allowed for session 'sess_k3f9x2m7qa'",
		"it is for orchestrator, user", "maestro report complete \"<summary>\" --task <taskId>",
	)},
	404: {"NotFound", "What the call names does not exist.", "", problem(
		"NOT_FOUND", "Task with id 'task_0000000000' not found", "no task has this id", "see `maestro task list`",
	)},
	409: {"Conflict", "The call conflicts with the current state, or its key was used otherwise.", "", problem(
		"CONFLICT", "Session 'sess_k3f9x2m7qa' no longer holds the item", "another session holds it",
		"claim the next one with `maestro queue start`",
	)},
	413: {"TooLarge", "The body is larger than a limit.", "", problem(
		"TOO_LARGE", "The body is larger than 1 MiB", "a command has at most 1 MiB", "shorten it",
	)},
	415: {"WrongFormat", "The body is not JSON.", "", problem(
		"VALIDATION_ERROR", "The body must be JSON", "its Content-Type is another one",
		"send Content-Type: application/json",
	)},
	422: {"AgainstARule", "A rule of the domain does not permit this.", "", problem(
		"BUSINESS_RULE_ERROR", "Cannot delete project with existing tasks", "only an empty project can be deleted",
		"delete its tasks first",
	)},
	429: {"Busy", "The caller exceeds a rate; docs/limits.md lists them.", "Retry-After", problem(
		"LIMIT_EXCEEDED", "Too many calls", "a session has a rate of calls", "call again after Retry-After",
	)},
	500: {"Failed", "The server failed; its log says why.", "", problem(
		"INTERNAL_ERROR", "The server failed to handle this request", "its log says why",
		"try again with the same key; if it fails again, report it",
	)},
	503: {"Unavailable", "The server cannot do it now, or is stopping.", "Retry-After", problem(
		"STOPPING", "The server is stopping", "it was told to stop", "call again in a moment",
	)},
	504: {"TimedOut", "The server did not finish in time.", "", problem(
		"TIMEOUT", "The views have not reached event 12", "they are at event 11", "call again",
	)},
}

func problem(code, message, why, next string) map[string]any {
	return map[string]any{"error": true, "code": code, "message": message, "why": why, "next": next}
}

//go:embed examples.json
var exampleText []byte

// examples are bodies, by command or by the name of a route.
var examples = sync.OnceValue(func() (all map[string]any) {
	if err := json.Unmarshal(exampleText, &all); err != nil {
		panic("apidoc: examples.json: " + err.Error())
	}
	return all
})
