package agent

import (
	"encoding/json"
	"strings"
)

// codexReader reads the stream of Codex. A turn states the usage of its whole thread.
type codexReader struct {
	counted Used // of the thread, what was reported
}

type codexLine struct {
	Type    string    `json:"type"`
	Thread  string    `json:"thread_id"`
	Message string    `json:"message"`
	Item    codexItem `json:"item"`
	Usage   struct {
		Input     int64 `json:"input_tokens"`
		Cached    int64 `json:"cached_input_tokens"`
		Output    int64 `json:"output_tokens"`
		Reasoning int64 `json:"reasoning_output_tokens"`
	} `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Exit    *int   `json:"exit_code"`
	Status  string `json:"status"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Query     string          `json:"query"`
}

func (r *codexReader) Read(line []byte) []Observation {
	var l codexLine
	if !decode(line, &l) {
		return nil
	}
	switch l.Type {
	case "thread.started":
		return []Observation{Began{Conversation: l.Thread}}
	case "item.started":
		if called, ok := l.Item.called(); ok {
			// Codex does not show the single answers of the model. Almost every call is an answer of its own.
			return []Observation{called, Used{Turns: 1}}
		}
	case "item.completed":
		return l.Item.completed()
	case "turn.completed":
		return append(r.usage(&l), Ended{OK: true})
	case "turn.failed":
		reason := clip(l.Error.Message, maxText)
		return []Observation{Ended{Cause: causeOf(statusIn(reason)), Reason: reason}}
	case "error":
		return []Observation{Retrying{Status: statusIn(l.Message), Reason: clip(l.Message, maxText)}}
	}
	return nil
}

func (r *codexReader) usage(l *codexLine) []Observation {
	u := &l.Usage
	total := Used{
		Input:     sum(u.Input),
		Cached:    sum(u.Cached),
		Output:    sum(u.Output),
		Reasoning: sum(u.Reasoning),
	}
	used := total.minus(r.counted)
	used.Turns = 1
	r.counted = total
	return []Observation{used}
}

// called returns the call that an item is, if it is one that the hook sees.
func (i *codexItem) called() (Called, bool) {
	call := Called{ID: i.ID, Ran: true}
	switch i.Type {
	case "command_execution":
		call.Tool, call.Command = "Bash", unwrapped(i.Command)
		call.Key, call.Summary = keyOf(Codex, call.Tool, "", call.Command), clip(call.Command, maxSummary)
	case "file_change":
		var paths []string
		for _, change := range i.Changes {
			paths = append(paths, change.Path)
		}
		call.Tool, call.Summary = "apply_patch", clip(strings.Join(paths, " "), maxSummary)
		call.Key = keyOf(Codex, call.Tool, "", "")
	case "mcp_tool_call":
		call.Tool = clip("mcp__"+i.Server+"__"+i.Tool, maxSummary)
		call.Key, call.Summary = keyOf(Codex, call.Tool, "", ""), summary("", i.Arguments)
	case "web_search": // the model's side searches, and asks no hook
		call.Tool, call.Summary = i.Type, clip(i.Query, maxSummary)
	default:
		return Called{}, false
	}
	return call, true
}

func (i *codexItem) completed() []Observation {
	switch i.Type {
	case "agent_message":
		return []Observation{Said{clip(i.Text, maxText)}}
	case "command_execution", "file_change", "mcp_tool_call", "web_search":
		failed := i.Status == "failed" || i.Status == "declined" || i.Exit != nil && *i.Exit != 0
		return []Observation{Returned{ID: i.ID, Failed: failed, Text: clip(i.Output, maxText)}}
	}
	return nil // an item "error" is a warning
}

// unwrapped returns the command line that Codex gives to a shell: of `/bin/bash -c 'ls -l'` it is `ls -l`.
func unwrapped(command string) string {
	words := shellWords(command)
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	return command
}

// shellWords divides a line of quoted words, as programs write them. It knows no expansions.
func shellWords(line string) (words []string) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\\':
			if i++; i < len(line) {
				word.WriteByte(line[i])
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				end = len(line) - i - 1
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case '"':
			i = doubleQuoted(line, i+1, &word)
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// doubleQuoted adds what is up to the closing quote, and returns the place of that quote.
func doubleQuoted(line string, i int, word *strings.Builder) int {
	for ; i < len(line) && line[i] != '"'; i++ {
		if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("$`\"\\\n", line[i+1]) >= 0 {
			i++
		}
		word.WriteByte(line[i])
	}
	return i
}
