package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// meantBy maps words that people try as a verb to what they may mean: the first one that the group has.
var meantBy = map[string][]string{
	"abort":    {"kill", "delete", "remove"},
	"add":      {"create", "push", "spawn"},
	"cancel":   {"kill", "remove"},
	"cat":      {"get", "show", "info"},
	"change":   {"update"},
	"close":    {"complete"},
	"delete":   {"remove", "revoke"},
	"describe": {"get", "info", "show"},
	"done":     {"complete"},
	"edit":     {"update"},
	"end":      {"complete"},
	"find":     {"list"},
	"finish":   {"complete"},
	"make":     {"create", "spawn"},
	"modify":   {"update"},
	"new":      {"create", "spawn"},
	"ps":       {"list"},
	"query":    {"list"},
	"remove":   {"delete", "revoke"},
	"rename":   {"update"},
	"retry":    {"requeue", "reopen"},
	"run":      {"exec", "start"},
	"search":   {"list"},
	"send":     {"message"},
	"set":      {"update", "use"},
	"stop":     {"kill"},
	"switch":   {"use"},
	"view":     {"get", "info", "show"},
}

// meantLines maps words that people try, by group, to the whole command line that they mean, where no verb of the group
// fits.
var meantLines = map[string]map[string]string{
	"": {
		"add":      "task create",
		"answer":   "input answer",
		"ask":      "report needs-input",
		"block":    "task block",
		"cancel":   "task update <taskId> --status cancelled",
		"check":    "audit verify",
		"close":    "task complete",
		"complete": "task complete",
		"create":   "task create",
		"daemon":   "serve",
		"delete":   "task delete",
		"depend":   "task update <taskId> --add-depends-on <taskIds>",
		"done":     "task complete",
		"edit":     "task edit",
		"exec":     "session exec",
		"exit":     "session complete",
		"export":   "audit export",
		"find":     `task list --search "<words>"`,
		"finish":   "task complete",
		"get":      "task get",
		"history":  "audit replay",
		"import":   "plan apply",
		"init":     "serve",
		"kill":     "session kill",
		"list":     "task list",
		"log":      "audit replay",
		"logs":     "audit replay",
		"ls":       "task list",
		"mail":     "input wait",
		"message":  "session message",
		"new":      "task create",
		"next":     "task list --ready",
		"note":     "session note",
		"ps":       "session list",
		"question": "input list",
		"ready":    "task list --ready",
		"reopen":   "task reopen",
		"replay":   "audit replay",
		"rm":       "task delete",
		"run":      "session exec",
		"search":   `task list --search "<words>"`,
		"send":     "session message",
		"server":   "serve",
		"show":     "task get",
		"spawn":    "session spawn",
		"start":    "serve",
		"tell":     "session message",
		"tree":     "task tree",
		"up":       "serve",
		"update":   "task update",
		"use":      "project use",
		"verify":   "audit verify",
		"wait":     "input wait",
	},
	"audit": {
		"check":   "audit verify",
		"history": "audit replay",
		"list":    "audit replay",
		"log":     "audit replay",
		"show":    "audit replay",
	},
	"input": {
		"ask": "report needs-input",
	},
	"plan": {
		"create": "plan apply",
		"import": "plan apply",
		"init":   "plan export",
		"new":    "plan export",
	},
	"project": {
		"init":   "project create",
		"log":    "audit replay --project <projectId>",
		"status": "status",
		"tree":   "task tree",
	},
	"queue": {
		"add":    "queue push",
		"cancel": "queue remove",
		"init":   "queue create",
		"log":    "queue list",
		"ps":     "queue status",
	},
	"report": {
		"ask":      "report needs-input",
		"close":    "report complete",
		"failed":   "report error",
		"question": "report needs-input",
	},
	"session": {
		"done":   "session complete",
		"init":   "session spawn",
		"log":    "session logs",
		"output": "session logs",
		"status": "session info",
	},
	"task": {
		"answer":  "input answer",
		"assign":  "session link <sessionId> <taskId>",
		"cancel":  "task update <taskId> --status cancelled",
		"depend":  "task update <taskId> --add-depends-on <taskIds>",
		"depends": "task update <taskId> --add-depends-on <taskIds>",
		"find":    `task list --search "<words>"`,
		"init":    "task create",
		"log":     "task get <taskId> --timeline",
		"logs":    "task get <taskId> --timeline",
		"message": "session message",
		"ready":   "task list --ready",
		"search":  `task list --search "<words>"`,
		"start":   "session spawn --task-ids <taskIds>",
		"unblock": "task reopen",
	},
}

// unknownVerbError is the error for an unknown command; meant is the command line that was probably meant, "" if none
// is similar.
type unknownVerbError struct {
	group *cobra.Command
	word  string
	meant string
}

func unknownVerb(group *cobra.Command, word string) error {
	return &unknownVerbError{group, word, meant(group, word)}
}

func (e *unknownVerbError) Error() string {
	refused := fmt.Sprintf("there is no command `%s %s`; ", e.group.CommandPath(), safetext.Quoted(e.word))
	if e.meant == "" {
		return fmt.Sprintf("%ssee `%s --help`", refused, e.group.CommandPath())
	}
	return fmt.Sprintf("%sdid you mean `%s %s`?", refused, safetext.Quoted(e.group.Root().Name()), e.meant)
}

// allowed replaces the command that was probably meant by one that this session may use in its place, if it may not use
// that one.
func (a *Run) allowed(err *unknownVerbError) error {
	if first, _, _ := strings.Cut(err.meant, " "); a.isSession() && commands.IsForOperators(first) {
		return &unknownVerbError{err.group, err.word, ""}
	}
	refused := a.refusedLine("maestro " + err.meant)
	if err.meant == "" || refused == nil {
		return err
	}
	line := ""
	if denied := refused.Denied(); denied != nil {
		line = strings.TrimPrefix(denied.Instead, "maestro ")
	}
	return &unknownVerbError{err.group, err.word, line}
}

// refusedLine returns the refusal of a command line that this session's manifest does not allow; nil if it does, or if
// it is not known what it allows.
func (a *Run) refusedLine(line string) *client.Error {
	if !a.isSession() {
		return nil
	}
	words := strings.Fields(line)[1:]
	called, _, err := Called(words, a.More...)
	if err != nil || called.Annotations[commandID] == "" ||
		called.Annotations[commandID] == "manifest:show" { // its own manifest, which every session may read
		return nil
	}
	var refused *client.Error
	if !errors.As(guardHere(a, called.Annotations[commandID]), &refused) {
		return nil
	}
	return refused
}

// waitForServer is the next step of a session whose server does not answer.
const waitForServer = "wait, then run the command again; reports are kept meanwhile"

// NoServerBySession refuses to start a server for a session: its server is the user's.
func (a *Run) NoServerBySession() error {
	return a.notBySession("starts no server", "the server is the user's",
		"go on with your work: reports are kept while the server is away")
}

// NoOwnServerBySession refuses a session a command that starts servers of its own for a while.
func (a *Run) NoOwnServerBySession(does string) error {
	return a.notBySession(does, "it starts servers and sessions of its own, which only the user does",
		"go on without it: no task needs it")
}

// NoHomeBySession refuses a session a command that reads or writes a whole home, with its secrets.
func (a *Run) NoHomeBySession(does string) error {
	return a.notBySession(does, "a home, with its secrets, is the user's", "leave it to the user")
}

// notBySession refuses what only the user does.
func (a *Run) notBySession(does, why, next string) error {
	session := a.sessionID()
	if !a.isSession() {
		var err error
		if session, err = sessionAbove(); err != nil || session == "" {
			return nil //nolint:nilerr // where nobody can tell what started a process, the user must still run a server
		}
	}
	return &failure.Error{
		Code:    failure.NotAllowed,
		Message: "A session " + does,
		Why:     why + ": this process belongs to session '" + session + "'",
		Next:    next,
	}
}

// followable replaces a next step that names a command which this session may not use. The server does the same with
// the steps that it names.
func (a *Run) followable(next string) string {
	for _, line := range commands.LinesIn(next) {
		switch words := commands.WordsOf(line); {
		case !a.isSession() || len(words) == 0:
		case words[0] == "serve": // agents do not start servers
			return waitForServer
		case commands.IsForOperators(words[0]):
			return "ask whoever runs the server"
		}
		if refused := a.refusedLine(line); refused != nil {
			return refused.Next
		}
	}
	return next
}

// meant returns the command line, without the program's name, that a word in a group most likely means; otherwise "".
func meant(group *cobra.Command, word string) string {
	_, path, _ := strings.Cut(group.CommandPath(), " ")
	if line := meantLines[path][strings.ToLower(word)]; line != "" {
		return line
	}
	var names []string
	for _, verb := range group.Commands() {
		if verb.IsAvailableCommand() {
			names = append(append(names, verb.Name()), verb.Aliases...)
		}
	}
	for _, name := range meantBy[strings.ToLower(word)] {
		if slices.Contains(names, name) {
			return strings.TrimSpace(path + " " + name)
		}
	}
	if name := safetext.Nearest(strings.ToLower(word), names); name != "" {
		return strings.TrimSpace(path + " " + name)
	}
	return ""
}
