package agent

import (
	"encoding/json"
	"strings"
)

// geminiReader reads the stream of Gemini. Only its last line states usage, that of this run.
type geminiReader struct{ said strings.Builder }

type geminiLine struct {
	Type       string          `json:"type"`
	Session    string          `json:"session_id"`
	Model      string          `json:"model"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Delta      bool            `json:"delta"`
	Tool       string          `json:"tool_name"`
	ID         string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Output     string          `json:"output"`
	Message    string          `json:"message"`
	Severity   string          `json:"severity"`
	Error      struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Models map[string]struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Cached int64 `json:"cached"`
		} `json:"models"`
	} `json:"stats"`
}

func (r *geminiReader) Read(line []byte) []Observation {
	var l geminiLine
	if !decode(line, &l) {
		return nil
	}
	if l.Type == "message" && l.Role == "assistant" && l.Delta {
		if r.said.Len() < maxText {
			r.said.WriteString(clip(l.Content, maxText))
		}
		return nil
	}
	all := r.whole()
	switch l.Type {
	case "init":
		return append(all, Began{Conversation: l.Session, Model: plainModel(l.Model)})
	case "message":
		if l.Role == "assistant" {
			all = append(all, Said{clip(l.Content, maxText)})
		}
	case "tool_use":
		command := ""
		if kinds[Gemini][l.Tool] == KindShell {
			command = argument(l.Parameters, "command")
		}
		all = append(all, Called{
			ID:      l.ID,
			Tool:    clip(l.Tool, maxSummary),
			Key:     keyOf(Gemini, l.Tool, l.ID, command),
			Command: command,
			Summary: summary(command, l.Parameters),
		}, Used{Turns: 1}) // it does not show the single answers of the model
	case "tool_result":
		text := l.Output
		if text == "" {
			text = l.Error.Message
		}
		all = append(all, Returned{ID: l.ID, Failed: l.Status != "success", Text: clip(text, maxText)})
	case "error":
		all = append(all, Retrying{Status: statusIn(l.Message), Reason: clip(l.Message, maxText)})
	case "result":
		for name, stated := range sorted(l.Stats.Models) {
			used := Used{
				Model:  plainModel(name),
				Input:  sum(stated.Input),
				Cached: sum(stated.Cached),
				Output: sum(stated.Output),
			}
			if used != (Used{Model: used.Model}) { // a model that failed is stated as well
				all = append(all, used)
			}
		}
		all = append(all, l.ended())
	}
	return all
}

// whole returns what the agent has said in pieces.
func (r *geminiReader) whole() []Observation {
	if r.said.Len() == 0 {
		return nil
	}
	text := clip(r.said.String(), maxText)
	r.said.Reset()
	return []Observation{Said{text}}
}

func (l *geminiLine) ended() Ended {
	if l.Status == "success" {
		return Ended{OK: true}
	}
	reason := l.Error.Message
	if reason == "" {
		reason = l.Error.Type
	}
	end := Ended{Cause: causeOf(statusIn(reason)), Reason: clip(reason, maxText)}
	if strings.Contains(l.Error.Type, "TurnLimit") || strings.Contains(reason, "max session turns") {
		end.Cause = CauseTurns
	}
	return end
}
