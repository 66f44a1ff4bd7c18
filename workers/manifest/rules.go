package manifest

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"maestro/events"
	"maestro/internal/lazyregexp"
	"maestro/internal/safetext"
)

// rule is a constraint on one text or number of the schema. Parse checks it and Schema writes it, so that they cannot
// differ; wrong is the part that JSON Schema cannot express, or expresses differently.
type rule struct {
	// enum lists the permitted values.
	enum []string
	// fits is an anchored pattern with the same meaning in RE2 and ECMAScript; what describes it in words.
	fits func() *regexp.Regexp
	what string
	// is is equivalent to fits, for texts of which a document may have millions.
	is func(text string) bool
	// least and most count code points; 0 is no limit.
	least, most int
	// lowest and highest bound a number.
	lowest, highest int64
	// format is JSON Schema's name for what wrong checks.
	format string
	wrong  func(text string) string
}

// port is a number from 1 to 65535.
const port = `([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`

// maxMilliseconds is the longest timeout that a time.Duration can hold.
const maxMilliseconds = math.MaxInt64 / int64(time.Millisecond)

// Ids are parts of paths and of comma-separated lists, and arguments of commands: no character in them may have a
// special meaning there.
const idPattern = `^[^/\\,.\x00-\x1f\x7f-\x9f-](\.?[^/\\,.\x00-\x1f\x7f-\x9f])*\.?$`

var rules = map[string]rule{
	"version": {enum: []string{Version}, wrong: func(version string) string {
		if version == Version {
			return ""
		}
		return "Unsupported manifest version: " + safetext.Printable(version) + " (supported: " + Version + ")"
	}},
	"role": {enum: enum(events.RoleWorker, events.RoleOrchestrator)},
	"strategy": {enum: enum(
		events.StrategySimple, events.StrategyQueue, events.StrategyTree,
		events.StrategyDefault, events.StrategyBatching, events.StrategyDAG,
	)},
	"id": {
		fits: lazyregexp.New(idPattern),
		is:   isID,
		most: 128,
		what: "an id: not empty, no '/', '\\', ',', '..' or control character, and no '-' or '.' at its start",
	},
	"title":    {least: 1, most: 200},
	"filled":   {least: 1},
	"priority": {enum: events.Priorities()},
	"time": {
		format: "date-time",
		fits: lazyregexp.New(
			`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`),
		what:  "a date and time with a zone, such as 2026-02-02T10:00:00Z",
		wrong: wrongTime,
	},
	"status": {enum: enum(events.TaskTodo, events.TaskInProgress, events.TaskCompleted, events.TaskCancelled,
		events.TaskBlocked)},

	// The valid full names depend on the agent: Reader.models.
	"model": {
		fits: lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`), most: 128,
		what: `"sonnet", "opus", "haiku" or the full name of a model`,
	},
	"turns":        {lowest: 1, highest: math.MaxInt32},
	"milliseconds": {lowest: 0, highest: maxMilliseconds},
	// The permission table says which commands exist, and which a list may hold.
	"command": {
		fits: lazyregexp.New(`^[a-z]+(-[a-z]+)*(:[a-z]+(-[a-z]+)*){0,2}$`), most: 64,
		what: "a command id, 'command' or 'parent:subcommand' in lower-case words, such as task:get",
	},
	"network": {
		fits: lazyregexp.New(`^(open|none|` + port + `(,` + port + `){0,15})$`),
		what: "open, none, or up to 16 TCP ports such as 443,8080",
	},
	"agent": {
		fits: lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`), most: 64,
		what: "the name of an agent, such as claude",
	},

	// The document's type and its example differ; either is accepted, and written back unchanged.
	"relatedStatus": {enum: []string{"pending", "todo", "in_progress", "completed", "blocked", "cancelled"}},
	"relationship":  {enum: []string{"dependency", "related", "blocking", "blocks"}},
}

// isID is idPattern written by hand.
func isID(text string) bool {
	if text == "" || text[0] == '-' || text[0] == '.' || strings.Contains(text, "..") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r == '/' || r == '\\' || r == ',' ||
			unicode.IsControl(r)
	})
}

func (r *rule) matches(text string) bool {
	if r.is != nil {
		return r.is(text)
	}
	return r.fits().MatchString(text)
}

func enum[T ~string](values ...T) []string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = string(value)
	}
	return words
}

func wrongTime(text string) string {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return "there is no such date and time: " + quoted(text)
	}
	return ""
}

// faultOf returns what is wrong with a text, or "".
func (r *rule) faultOf(text string) string {
	if strings.ContainsRune(text, 0) {
		return `holds a NUL character (\u0000): leave it out`
	}
	if r == nil {
		return ""
	}
	if length := utf8.RuneCountInString(text); length < r.least || r.most > 0 && length > r.most {
		if length == 0 {
			return "must not be empty"
		}
		return "has " + strconv.Itoa(length) + " characters; at most " + strconv.Itoa(r.most) + " are allowed"
	}
	if r.fits != nil && !r.matches(text) {
		return "must be " + r.what + ", not " + quoted(text)
	}
	if r.wrong != nil {
		return r.wrong(text)
	}
	if r.enum != nil && !slices.Contains(r.enum, text) {
		return "must be " + choice(r.enum) + ", not " + quoted(text)
	}
	return ""
}

// choice lists values as a person would.
func choice(values []string) string {
	var b strings.Builder
	for i, value := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(value))
	}
	return b.String()
}

func quoted(text string) string { return `"` + safetext.Printable(text) + `"` }
