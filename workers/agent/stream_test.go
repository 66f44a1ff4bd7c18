package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
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

// What the real CLIs have printed shows what happened.
func TestRecordedStreams(t *testing.T) {
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

func TestStreams(t *testing.T) {
	at := time.Unix(1700000000, 0)
	for _, c := range []struct {
		agent, stream string
		want          []Observation
	}{
		// Blocks of one answer count once; a subagent's answers in between are another's; the total has the rest.
		{
			Claude, `{"type":"assistant","message":{"id":"a","model":"m[1m]","content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":4,"output_tokens":8}}}
{"type":"assistant","parent_tool_use_id":"p","message":{"id":"b","model":"m","content":[{"type":"text","text":"sub"}],"usage":{"input_tokens":10}}}
{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1}}}
{"type":"result","subtype":"success","modelUsage":{"m":{"inputTokens":12,"cacheReadInputTokens":2,"cacheCreationInputTokens":4,"outputTokens":20,"costUSD":0.5},"n":{"outputTokens":1}}}`,
			[]Observation{
				Used{Model: "m", Turns: 1, Input: 7, Cached: 2, Output: 8},
				Used{Model: "m", Input: 10},
				Said{"hi"},
				Used{Model: "m", Input: 1, Output: 12, CostMicros: 500000},
				Used{Model: "n", Output: 1},
				Ended{OK: true},
			},
		},
		{
			Claude, `{"type":"system","subtype":"api_retry","attempt":2,"retry_delay_ms":500.5,"error_status":529,"error":"overloaded"}
{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1700000000}}
{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}
{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[]}}
{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded"}
{"type":"result","subtype":"error_during_execution","errors":["a","b"]}
{"type":"result","subtype":"error_max_budget_usd"}
{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}`,
			[]Observation{
				Retrying{Status: 529, Reason: "overloaded", Attempt: 2, After: 500500 * time.Microsecond},
				Retrying{Status: 429, Reason: "the rate limit is reached", Until: at},
				Ended{Cause: CauseModel, Reason: "Overloaded"},
				Ended{Cause: CauseStopped, Reason: "a; b"},
				Ended{Cause: CauseLimit, Reason: "error_max_budget_usd"},
				Ended{Cause: CauseLogin, Reason: "Not logged in · Please run /login"},
			},
		},
		{
			Codex, `{"type":"item.started","item":{"id":"1","type":"file_change","changes":[{"path":"/a"},{"path":"/b"}]}}
{"type":"item.started","item":{"id":"2","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"x":1}}}
{"type":"item.completed","item":{"id":"2","type":"mcp_tool_call","status":"failed"}}
{"type":"item.started","item":{"id":"3","type":"web_search","query":"q"}}
{"type":"item.started","item":{"id":"4","type":"todo_list"}}
{"type":"error","message":"Reconnecting... 1/5 (unexpected status 503 Service Unavailable, url: http://127.0.0.1:40129/)"}
{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`,
			[]Observation{
				Called{ID: "1", Tool: "apply_patch", Key: "apply_patch", Summary: "/a /b", Ran: true},
				Used{Turns: 1},
				Called{ID: "2", Tool: "mcp__s__t", Key: "mcp__s__t", Summary: `{"x":1}`, Ran: true},
				Used{Turns: 1},
				Returned{ID: "2", Failed: true},
				Called{ID: "3", Tool: "web_search", Summary: "q", Ran: true},
				Used{Turns: 1},
				Retrying{Status: 503, Reason: "Reconnecting... 1/5 (unexpected status 503 Service Unavailable, url: http://127.0.0.1:40129/)"},
				Ended{Cause: CauseLimit, Reason: "exceeded retry limit, last status: 429 Too Many Requests"},
			},
		},
		{
			Gemini, `{"type":"message","role":"assistant","content":"a","delta":true}
{"type":"message","role":"assistant","content":"b","delta":true}
{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"file_path":"/f"}}
{"type":"error","severity":"warning","message":"Loop detected"}`,
			[]Observation{
				Said{"ab"},
				Called{ID: "1", Tool: "read_file", Key: "read_file", Summary: "/f"},
				Used{Turns: 1},
				Retrying{Reason: "Loop detected"},
			},
		},
		{
			"mine", `{"type":"session","conversation":"c","model":"m"}
{"type":"tool","id":"1","tool":"shell","command":"ls"}
{"type":"tool_result","id":"1","failed":true,"text":"no"}
{"type":"usage","model":"m","turns":1,"input":10,"cached":-4,"output":2,"costMicros":7}
{"type":"retry","status":429,"text":"slow"}
{"type":"text","text":"hi"}
plain
{"type":"other"}
{"type":"result","text":"broken"}
{"type":"result","ok":true}`,
			[]Observation{
				Began{Conversation: "c", Model: "m"},
				Called{ID: "1", Tool: "shell", Command: "ls", Summary: "ls", Ran: true},
				Returned{ID: "1", Failed: true, Text: "no"},
				Used{Model: "m", Turns: 1, Input: 10, Output: 2, CostMicros: 7},
				Retrying{Status: 429, Reason: "slow"},
				Said{"hi"},
				Said{"plain"},
				Said{`{"type":"other"}`},
				Ended{Cause: CauseOther, Reason: "broken"},
				Ended{OK: true},
			},
		},
	} {
		if got := observed(reader(t, c.agent, Used{}), c.stream); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.agent, got, c.want)
		}
	}
}

// A command line comes back from the words that Codex prints.
func TestCommandsAreUnwrapped(t *testing.T) {
	for printed, want := range map[string]string{
		`/bin/bash -c 'sleep 3'`: "sleep 3",
		`/bin/bash -lc true`:     "true",
		`/bin/bash -c "it='q\"'; echo \""'$it" ` + "`echo a`" + ` '"\\"'$x | cat > "a b.txt"'`: `it='q"'; echo "$it" ` + "`echo a`" + ` \$x | cat > "a b.txt"`,
		`/bin/bash -c 'a` + "\n" + `b'`: "a\nb",
		`/bin/sh -c ''`:                 "",
		`ls -l`:                         "ls -l",
		`bash -c 'unfinished`:           "unfinished",
		`bash -c "unfinished \`:         `unfinished \`,
		`bash -c a\`:                    "a",
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
