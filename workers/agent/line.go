package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"maestro/internal/lazyregexp"
)

// maxLine bounds a line that is read. The longest lines of the CLIs carry the results of tools.
const maxLine = 64 << 20

// decode reads a line that is a JSON object. Members of another type than expected stay empty.
func decode(line []byte, into any) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || len(line) > maxLine {
		return false
	}
	err := json.Unmarshal(line, into)
	var mistyped *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mistyped)
}

// clip returns at most that many bytes of a text, without cutting a character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	if r, size := utf8.DecodeLastRuneInString(text); r == utf8.RuneError && size <= 1 && len(text) > 0 {
		text = text[:len(text)-1]
	}
	return text
}

// argument returns a text among a tool's arguments, "" if there is none.
func argument(input json.RawMessage, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(input, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}

// summary says what a call is about.
func summary(command string, input json.RawMessage) string {
	if command != "" {
		return clip(command, maxSummary)
	}
	var args arguments
	_ = json.Unmarshal(input, &args) // a member of another type stays empty
	for _, text := range []string{
		args.FilePath, args.NotebookPath, args.Path, args.DirPath, args.URL, args.Query, args.Pattern, args.Prompt,
	} {
		if text != "" {
			return clip(text, maxSummary)
		}
	}
	var out bytes.Buffer
	if json.Compact(&out, input) != nil {
		return ""
	}
	return clip(out.String(), maxSummary)
}

// most bounds a number of tokens, so that sums stay in range.
const most = 1 << 50

// sum adds numbers of tokens. Negative ones count as 0.
func sum(numbers ...int64) (total int64) {
	for _, n := range numbers {
		total += min(max(n, 0), most)
	}
	return min(total, most)
}

// clamp bounds a number: it may come from anywhere.
func clamp(number, bound float64) float64 {
	if math.IsNaN(number) {
		return 0
	}
	return math.Round(min(max(number, 0), bound))
}

// plus adds what was used of the same model.
func (u *Used) plus(v Used) {
	u.Model = v.Model
	u.Turns, u.Input, u.Cached = sum(u.Turns, v.Turns), sum(u.Input, v.Input), sum(u.Cached, v.Cached)
	u.Output, u.Reasoning = sum(u.Output, v.Output), sum(u.Reasoning, v.Reasoning)
	u.CostMicros = sum(u.CostMicros, v.CostMicros)
}

// minus returns what is left without what was reported before. Turns are not part of totals.
func (u Used) minus(before Used) Used {
	return Used{
		Model:      u.Model,
		Input:      max(u.Input-before.Input, 0),
		Cached:     max(u.Cached-before.Cached, 0),
		Output:     max(u.Output-before.Output, 0),
		Reasoning:  max(u.Reasoning-before.Reasoning, 0),
		CostMicros: max(u.CostMicros-before.CostMicros, 0),
	}
}

// sorted iterates over a map in the order of its names.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// causeOf returns what an HTTP status of the model's API means.
func causeOf(status int) Cause {
	switch {
	case status == 401 || status == 403:
		return CauseLogin
	case status == 429:
		return CauseLimit
	case status >= 400:
		return CauseModel
	}
	return CauseOther
}

// status is an HTTP status in a message of an API.
var status = lazyregexp.New(`(?i)(?:\bstatus:? |"code\\?":|\bAPI Error: )([45]\d\d)\b`)

// statusIn returns the HTTP status that a message of an API names, 0 if it names none.
func statusIn(message string) int {
	found := status().FindStringSubmatch(clip(message, maxText))
	if found == nil {
		return 0
	}
	number, _ := strconv.Atoi(found[1]) // three digits
	return number
}
