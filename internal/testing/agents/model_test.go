//go:build agents

package agents_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"maestro/internal/testing/mockmodel"
	"maestro/workers/agent"
)

// apiKey is the key of the model's API. No stored output may have it.
const apiKey = "sk-mock-5d41402abc4b2a76b9719d911017c592"

// model is a scripted model, which remembers what it is asked.
type model struct {
	url string

	mu       sync.Mutex
	script   mockmodel.Script
	requests []string
	status   int // of its API, if it refuses
}

// newModel starts the model of an agent.
func newModel(t *testing.T, name string) *model {
	m := &model{}
	apis := map[string]func(mockmodel.Script) http.Handler{
		agent.Claude: mockmodel.Anthropic,
		agent.Codex:  mockmodel.OpenAI,
		agent.Gemini: mockmodel.Gemini,
	}
	api := apis[name](func(tools []string, results []mockmodel.Result) mockmodel.Step {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.script(tools, results)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		content, err := io.ReadAll(q.Body)
		if err != nil {
			return // an agent that was killed
		}
		m.mu.Lock()
		m.requests = append(m.requests, string(content))
		m.mu.Unlock()
		if m.status != 0 {
			http.Error(w, `{"error":{"type":"authentication_error","message":"refused","code":401}}`, m.status)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(content))
		api.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// settings are those with which an agent uses this model.
func (m *model) settings(name string) agent.Settings {
	settings := map[string]agent.Settings{
		agent.Claude: {Env: map[string]string{
			"ANTHROPIC_BASE_URL": m.url, "ANTHROPIC_API_KEY": apiKey, "CLAUDE_CODE_MAX_RETRIES": "1",
		}},
		agent.Codex: {
			Env: map[string]string{"CODEX_API_KEY": apiKey},
			Args: []string{
				"-c", "model_provider=mock", "-c", `model_providers.mock={name="mock",base_url="` + m.url +
					`/v1",wire_api="responses",env_key="CODEX_API_KEY",stream_max_retries=1}`,
			},
		},
		agent.Gemini: {Env: map[string]string{"GOOGLE_GEMINI_BASE_URL": m.url, "GEMINI_API_KEY": apiKey}},
	}[name]
	settings.Path = filepath.Join(*clis, name)
	return settings
}

// steps sets the script: these steps in order, and then "Done.".
func (m *model) steps(steps ...mockmodel.Step) { m.say("Done.", steps...) }

// say sets the script: these steps in order, and then a text.
func (m *model) say(text string, steps ...mockmodel.Step) {
	m.follow(func(_ []string, results []mockmodel.Result) mockmodel.Step {
		if len(results) < len(steps) {
			return steps[len(results)]
		}
		return mockmodel.Step{Text: text}
	})
}

// follow sets the script, and forgets what the model was asked.
func (m *model) follow(script mockmodel.Script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script, m.requests = script, nil
}

// asked reports whether the agent has sent its model a text.
func (m *model) asked(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told(text)
}

// told is asked, for a script.
func (m *model) told(text string) bool {
	for _, request := range m.requests {
		if strings.Contains(request, text) {
			return true
		}
	}
	return false
}

// forget forgets what the model was asked.
func (m *model) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = nil
}

// together reports whether one request had all texts.
func (m *model) together(texts ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.requests, func(request string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(request, text) })
	})
}
