package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// item is an item of a conversation: what somebody says, a call, its output, or tools.
type item struct {
	Type   string          `json:"type"`
	Output json.RawMessage `json:"output"`
	Tools  []tool          `json:"tools"`
}

// tool is a tool, or a group of them.
type tool struct {
	Name  string `json:"name"`
	Tools []tool `json:"tools"`
}

func names(tools []tool) (all []string) {
	for _, t := range tools {
		if t.Name != "" {
			all = append(all, t.Name)
		}
		all = append(all, names(t.Tools)...)
	}
	return all
}

// OpenAI answers as the OpenAI Responses API. Some models of Codex have one tool, exec, which runs JavaScript that
// calls the others; a call of the shell is translated into that.
func OpenAI(script Script) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model string `json:"model"`
			Tools []tool `json:"tools"`
			Input []item `json:"input"`
		}
		if !asked(w, r, &request) {
			return
		}
		tools := names(request.Tools)
		var results []Result
		for _, i := range request.Input {
			switch i.Type {
			case "additional_tools":
				tools = append(tools, names(i.Tools)...)
			case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
				results = append(results, Result{Text: words(i.Output)})
			}
		}
		turn := len(request.Input)
		done := output(script(tools, results), slices.Contains(tools, "exec"), turn)
		id := fmt.Sprintf("resp_%d", turn)
		whole := object{
			"id": id, "object": "response", "model": request.Model, "status": "completed", "output": []any{done},
			"usage": object{
				"input_tokens": InputTokens, "input_tokens_details": object{"cached_tokens": CachedTokens},
				"output_tokens": OutputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
				"total_tokens": InputTokens + OutputTokens,
			},
		}
		stream(
			w,
			object{"type": "response.created", "response": object{"id": id, "status": "in_progress"}},
			object{"type": "response.output_item.added", "output_index": 0, "item": done},
			object{"type": "response.output_item.done", "output_index": 0, "item": done},
			object{"type": "response.completed", "response": whole},
		)
	})
	return mux
}

// output returns the item of a step. With the tool exec, it is JavaScript that calls the tool of the step; the step of
// exec itself has the JavaScript as its argument. A tool of a group, as in group/tool, is always called directly.
func output(step Step, exec bool, turn int) object {
	if step.Tool == "" {
		return object{
			"type": "message", "id": fmt.Sprintf("msg_%d", turn), "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": step.Text, "annotations": []any{}}},
		}
	}
	step = step.as("exec_command", "cmd")
	arguments, err := json.Marshal(step.Arguments)
	if err != nil {
		return object{"type": "message", "role": "assistant", "content": []any{}}
	}
	call := object{"call_id": fmt.Sprintf("call_%d", turn), "status": "completed"}
	group, name, grouped := strings.Cut(step.Tool, "/")
	if grouped {
		call["namespace"], step.Tool = group, name
	}
	if !exec || grouped {
		call["type"], call["id"], call["name"] = "function_call", fmt.Sprintf("fc_%d", turn), step.Tool
		call["arguments"] = string(arguments)
		return call
	}
	code := fmt.Sprintf("text(await tools.%s(%s))", step.Tool, arguments)
	if text, ok := step.Arguments.(string); ok && step.Tool == "exec" {
		code = text
	}
	call["type"], call["id"], call["name"] = "custom_tool_call", fmt.Sprintf("ctc_%d", turn), "exec"
	call["input"] = code
	return call
}
