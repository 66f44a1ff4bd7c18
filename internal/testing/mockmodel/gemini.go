package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// part is a part of a message of Gemini's API.
type part struct {
	Response *struct {
		ID       string `json:"id"`
		Response struct {
			Output json.RawMessage `json:"output"`
			Error  json.RawMessage `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

// routing answers what Gemini asks beside the conversation: which model is to answer, who speaks next.
const routing = `{"reasoning":"as the script says","model_choice":"flash","next_speaker":"user",` +
	`"complexity_reasoning":"none","complexity_score":1}`

// Gemini answers as the Gemini API.
func Gemini(script Script) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1beta/models/{call}", func(w http.ResponseWriter, r *http.Request) {
		model, method, _ := strings.Cut(r.PathValue("call"), ":")
		var request struct {
			Tools []struct {
				Functions []tool `json:"functionDeclarations"`
			} `json:"tools"`
			Contents []struct {
				Parts []part `json:"parts"`
			} `json:"contents"`
			Config struct {
				MIME string `json:"responseMimeType"`
			} `json:"generationConfig"`
		}
		if !asked(w, r, &request) {
			return
		}
		if method == "countTokens" {
			reply(w, object{"totalTokens": InputTokens})
			return
		}
		var tools []string
		for _, t := range request.Tools {
			tools = append(tools, names(t.Functions)...)
		}
		var results []Result
		for _, c := range request.Contents {
			results = append(results, geminiResults(c.Parts)...)
		}
		said := object{"text": "ok"}
		switch {
		case len(tools) > 0:
			said = spoken(script(tools, results), len(request.Contents))
		case request.Config.MIME == "application/json":
			said = object{"text": routing}
		}
		answer := object{
			"responseId": fmt.Sprintf("resp_%d", len(request.Contents)), "modelVersion": model,
			"candidates": []any{object{
				"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []any{said}},
			}},
			"usageMetadata": object{
				"promptTokenCount": InputTokens, "cachedContentTokenCount": CachedTokens,
				"candidatesTokenCount": OutputTokens, "totalTokenCount": InputTokens + OutputTokens,
			},
		}
		if method == "streamGenerateContent" {
			stream(w, answer)
			return
		}
		reply(w, answer)
	})
	return mux
}

// geminiResults returns the results in a message. A conversation that Gemini continues has each of them twice.
func geminiResults(parts []part) (results []Result) {
	seen := map[string]bool{}
	for _, p := range parts {
		if p.Response == nil || seen[p.Response.ID] {
			continue
		}
		seen[p.Response.ID] = p.Response.ID != ""
		answer := p.Response.Response
		if answer.Error != nil {
			results = append(results, Result{Text: words(answer.Error), Failed: true})
			continue
		}
		results = append(results, Result{Text: words(answer.Output)})
	}
	return results
}

func spoken(step Step, turn int) object {
	if step.Tool == "" {
		return object{"text": step.Text}
	}
	step = step.as("run_shell_command", "command")
	return object{"functionCall": object{
		"id": fmt.Sprintf("call_%d", turn), "name": step.Tool, "args": step.Arguments,
	}}
}
