package mockmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// message is a message of a conversation. Its content is a text, or a list of blocks.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// words returns the texts of a content.
func words(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

// results returns the results of the tools in a conversation.
func results(conversation []message) (all []Result) {
	for _, m := range conversation {
		var blocks []block
		if m.Role != "user" || json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				all = append(all, Result{words(b.Content), b.IsError})
			}
		}
	}
	return all
}

// Anthropic answers as the Anthropic Messages API.
func Anthropic(script Script) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model  string `json:"model"`
			Stream bool   `json:"stream"`
			Tools  []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Messages []message `json:"messages"`
		}
		if !asked(w, r, &request) {
			return
		}
		step := Step{Text: "ok"} // a request beside the conversation, such as for a title
		var tools []string
		for _, tool := range request.Tools {
			tools = append(tools, tool.Name)
		}
		if len(tools) > 0 {
			step = script(tools, results(request.Messages)).as("Bash", "command")
		}
		answer(w, request.Model, request.Stream, step, len(request.Messages))
	})
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"input_tokens":100}`)
	})
	return mux
}

func answer(w http.ResponseWriter, model string, streamed bool, step Step, turn int) {
	content, begun := object{"type": "text", "text": step.Text}, object{"type": "text", "text": ""}
	delta, why := object{"type": "text_delta", "text": step.Text}, "end_turn"
	if step.Tool != "" {
		arguments, err := json.Marshal(step.Arguments)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		id := fmt.Sprintf("toolu_%d", turn)
		content = object{"type": "tool_use", "id": id, "name": step.Tool, "input": step.Arguments}
		begun = object{"type": "tool_use", "id": id, "name": step.Tool, "input": object{}}
		delta, why = object{"type": "input_json_delta", "partial_json": string(arguments)}, "tool_use"
	}
	usage := object{
		"input_tokens": InputTokens - CachedTokens, "cache_read_input_tokens": CachedTokens,
		"output_tokens": OutputTokens,
	}
	whole := object{
		"id": fmt.Sprintf("msg_%d", turn), "type": "message", "role": "assistant", "model": model,
		"content": []any{content}, "stop_reason": why, "stop_sequence": nil, "usage": usage,
	}
	if !streamed {
		reply(w, whole)
		return
	}
	whole["content"], whole["stop_reason"] = []any{}, nil
	stream(
		w,
		object{"type": "message_start", "message": whole},
		object{"type": "content_block_start", "index": 0, "content_block": begun},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": why, "stop_sequence": nil}, "usage": usage},
		object{"type": "message_stop"},
	)
}
