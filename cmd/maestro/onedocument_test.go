package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/internal/cli"
	"maestro/internal/testing/race"
	"maestro/internal/testing/standin"
)

// long are the commands whose example would run for a long time. They get only wrong input.
var long = []string{"maestro serve", "maestro bench", "maestro demo"}

// verdicts are the first words of the commands whose exit code repeats what their document says: that something is not
// allowed.
var verdicts = []string{"commands", "audit"}

// TestEveryCommandPrintsOneDocument: with -o json, stdout is one JSON document, and with -o jsonl one document per
// line, even if the flags or arguments are wrong, there is no server, or the server refuses or gives senseless answers.
func TestEveryCommandPrintsOneDocument(t *testing.T) {
	race.Without(t)
	servers := map[string]string{"no server": "http://127.0.0.1:1"}
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"refused":       {http.StatusForbidden, `{"error":true,"code":"NOT_ALLOWED","message":"No"}`},
		"failed":        {http.StatusInternalServerError, `{"error":true,"code":"INTERNAL","message":"No"}`},
		"nonsense":      {http.StatusOK, `nonsense`},
		"an empty list": {http.StatusOK, `[]`},
		"nothing":       {http.StatusOK, `{}`},
		"two lines":     {http.StatusOK, "{}\n{}\n"},
	} {
		server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		}, "mss_s.1.x", "msu_admin"))
		defer server.Close()
		servers[name] = server.URL
	}
	commands := 0
	eachCommand(root(), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		if len(path) == 0 || slices.Contains([]string{"completion", "help"}, path[0]) {
			return // they write programs for shells and pages for people
		}
		commands++
		wrong := [][]string{{"--nosuch"}, {"one", "two", "three", "four"}, {"--json", "--nosuch"}, {"-o", "xml"}}
		if !slices.Contains(long, cmd.CommandPath()) {
			wrong = append(wrong, nil)
		}
		for _, rest := range wrong {
			checkDocuments(t, "no server", servers["no server"], path, rest)
		}
		example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		if cmd.HasSubCommands() || example == "" || slices.Contains(long, cmd.CommandPath()) {
			return
		}
		words := quotedWord.FindAllString(example, -1)
		for i, word := range words {
			words[i] = strings.Trim(word, `"`)
		}
		if words = words[1+len(path):]; cmd.Name() == "wait" || slices.Contains(words, "--wait") {
			words = slices.DeleteFunc(words, func(word string) bool { return word == "--timeout" || word == "90s" })
			words = append(words, "--timeout", "1ms")
		}
		for name, url := range servers {
			checkDocuments(t, name, url, path, words)
		}
	})
	if commands < 100 {
		t.Errorf("%d commands", commands)
	}
}

// checkDocuments runs a command as a session and as a user, and parses its output.
func checkDocuments(t *testing.T, server, url string, path, rest []string) {
	t.Helper()
	user := map[string]string{
		"MAESTRO_API_URL":    url,
		"MAESTRO_TOKEN":      "msu_admin",
		"MAESTRO_PROJECT_ID": "p",
		"EDITOR":             "false",
	}
	session := maps.Clone(user)
	session["MAESTRO_TOKEN"], session["MAESTRO_SESSION_ID"] = "mss_s.1.x", "s"
	for who, env := range map[string]map[string]string{"user": user, "session": session} {
		for _, form := range []string{"json", "jsonl"} {
			t.Chdir(t.TempDir())
			env["MAESTRO_HOME"] = "home"
			args := slices.Concat(path, []string{"-o", form}, rest)
			got := runHere(t, env, args...)
			documents, err := read(got.stdout, form == "jsonl")
			failed := slices.ContainsFunc(documents, func(d map[string]any) bool { return d["success"] == false })
			verdict := got.code == cli.ExitNotAllowed && slices.Contains(verdicts, path[0])
			if path[0] == "doctor" { // what it found is its answer
				verdict = got.code == cli.ExitFailed || got.code == cli.ExitPartial
			}
			told := got.code == cli.ExitDone || failed || verdict
			if err != nil || form == "json" && len(documents) != 1 || !told {
				t.Errorf("%s, %s: maestro %s: exit %d: %d documents, %v:\n%s\n%s",
					server, who, strings.Join(args, " "), got.code, len(documents), err, got.stdout, got.stderr)
			}
		}
	}
}

// read parses JSON documents; with lines, one from each line.
func read(text string, lines bool) (documents []map[string]any, err error) {
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var document any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return documents, err
		}
		object, _ := document.(map[string]any)
		documents = append(documents, object)
	}
	if lines && strings.Count(text, "\n") != len(documents) {
		return documents, errors.New("the documents are not lines")
	}
	return documents, nil
}
