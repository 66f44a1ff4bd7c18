package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// observed reads a whole stream.
func observed(r Reader, stream string) (all []Observation) {
	for line := range strings.Lines(stream) {
		all = append(all, r.Read([]byte(strings.TrimSuffix(line, "\n")))...)
	}
	return all
}

func reader(t *testing.T, agent string, before Used) Reader {
	t.Helper()
	driver, err := Config{Agents: map[string]Settings{"mine": {Output: "jsonl"}}}.Driver(agent)
	if err != nil {
		t.Fatal(err)
	}
	return driver.Reader(before)
}

// What the real CLIs have printed shows what happened, and so do the made streams, which have what is harder to
// provoke: answers in several blocks, subagents and errors.
func TestStreams(t *testing.T) {
	paths, err := filepath.Glob("testdata/streams/*/*.jsonl")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d streams, %v", len(paths), err)
	}
	for _, path := range paths {
		agent, name := filepath.Base(filepath.Dir(path)), strings.TrimSuffix(filepath.Base(path), ".jsonl")
		before := Used{}
		if name == "resumed" {
			before = Used{Input: 100, Cached: 40, Output: 10}
		}
		var out strings.Builder
		for _, o := range observed(reader(t, agent, before), read(t, path)) {
			fmt.Fprintf(&out, "%T %+v\n", o, o)
		}
		golden(t, "observed/"+agent+"-"+name+".txt", strings.ReplaceAll(out.String(), "agent.", ""))
	}
}

// A command line comes back from the words that Codex prints.
func TestCommandsAreUnwrapped(t *testing.T) {
	for printed, want := range map[string]string{
		`/bin/bash -c 'sleep 3'`: "sleep 3",
		`/bin/bash -lc true`:     "true",
		`/bin/bash -c "it='q\"'; echo \""'$it" '"\\"'$x | cat > "a b"'`: `it='q"'; echo "$it" \$x | cat > "a b"`,
		`/bin/bash -c 'a` + "\n" + `b'`:                                 "a\nb",
		`/bin/sh -c ''`:                                                 "",
		`ls -l`:                                                         "ls -l",
		`bash -c 'unfinished`:                                           "unfinished",
		`bash -c "unfinished \`:                                         `unfinished \`,
		`bash -c a\`:                                                    "a",
	} {
		if got := unwrapped(printed); got != want {
			t.Errorf("%s is %q, want %q", printed, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, text := range []string{"", "a", "äöü", "日本語", "a\xff\xffb", "\xff\xff\xff\xff"} {
		for most := range 10 {
			got := clip(text, most)
			if len(got) > most || !strings.HasPrefix(text, got) || utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q of %d bytes is %q", text, most, got)
			}
		}
	}
}

// However a stream is damaged, a reader shows only what is within bounds, and does not fail.
func FuzzReaders(f *testing.F) {
	paths, err := filepath.Glob("testdata/streams/*/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte(`{"type":"result","modelUsage":{"m":{"inputTokens":-9223372036854775808,"costUSD":1e400}}}`))
	f.Add([]byte(`{"type":"turn.completed","usage":{"input_tokens":9223372036854775807}}` + "\n" +
		`{"type":"turn.completed","usage":{"input_tokens":9223372036854775807}}`))
	f.Add([]byte(`{"type":"item.started","item":{"type":"command_execution","command":"a '"}}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, agent := range []string{Claude, Codex, Gemini, "mine"} {
			r := reader(t, agent, Used{Input: 5})
			for line := range bytes.Lines(stream) {
				for _, o := range r.Read(bytes.TrimSuffix(line, []byte("\n"))) {
					within(t, agent, o)
				}
			}
		}
	})
}

func within(t *testing.T, agent string, o Observation) {
	t.Helper()
	switch o := o.(type) {
	case Used:
		for _, n := range []int64{o.Turns, o.Input, o.Cached, o.Output, o.Reasoning, o.CostMicros} {
			if n < 0 || n > most {
				t.Errorf("%s: %+v", agent, o)
			}
		}
	case Called:
		if len(o.Summary) > maxSummary || len(o.Tool) > maxSummary {
			t.Errorf("%s: %+v", agent, o)
		}
	case Returned:
		if len(o.Text) > maxText {
			t.Errorf("%s: %d bytes", agent, len(o.Text))
		}
	case Said:
		if len(o.Text) > maxText {
			t.Errorf("%s: %d bytes", agent, len(o.Text))
		}
	case Ended:
		if len(o.Reason) > maxText || o.OK != (o.Cause == "") {
			t.Errorf("%s: %+v", agent, o)
		}
	}
	if _, err := json.Marshal(o); err != nil {
		t.Errorf("%s: %v", agent, err)
	}
}
