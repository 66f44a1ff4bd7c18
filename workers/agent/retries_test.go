package agent

import (
	"slices"
	"testing"
)

// A configured command does not number its attempts; the next one is numbered, from 1 after each sign of life.
func TestRetriesAreNumbered(t *testing.T) {
	reader := command{name: "own", Settings: Settings{Output: "jsonl"}}.Reader(Used{})
	var got []Observation
	for _, line := range []string{
		`{"type":"retry","status":529,"text":"overloaded"}`,
		`{"type":"retry","status":503}`,
		`{"type":"text","text":"on it"}`,
		`{"type":"retry"}`,
	} {
		got = append(got, reader.Read([]byte(line))...)
	}
	want := []Observation{
		Retrying{Status: 529, Reason: "overloaded", Attempt: 1},
		Retrying{Status: 503, Reason: "HTTP status 503", Attempt: 2},
		Said{"on it"},
		Retrying{Reason: "no reason given", Attempt: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("it shows %+v, want %+v", got, want)
	}
}
