package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/events"
)

func TestPagesAreCurrent(t *testing.T) {
	if err := run("../../..", true); err != nil {
		t.Error(err)
	}
}

func TestCheckSeesAChange(t *testing.T) {
	root := t.TempDir()
	for _, p := range pages {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(p.path)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(root, true); err == nil {
		t.Error("missing pages count as current")
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("just written, but not current: %v", err)
	}
	for _, p := range pages {
		path := filepath.Join(root, p.path)
		page := p.page()
		if err := os.WriteFile(path, []byte(page+" "), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(root, true); err == nil || !strings.Contains(err.Error(), p.path) {
			t.Errorf("%s has an additional space, but the check returns %v", p.path, err)
		}
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The envelope is described by hand, so the description is compared with an encoded event.
func TestEveryAttributeIsDescribed(t *testing.T) {
	event := events.Event{
		Source:        "/system",
		Time:          time.Unix(1, 0),
		OccurredAt:    time.Unix(1, 0),
		Project:       "p",
		CausationID:   "c",
		CorrelationID: "c",
		TraceParent:   "t",
		Rules:         "1",
		Authn:         "none",
		Data:          &events.ProjectDeleted{ProjectID: "p"},
	}
	body, err := event.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, name.(string))
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	var described []string
	for _, a := range attributes {
		described = append(described, a.name)
	}
	if !slices.Equal(written, described) {
		t.Errorf("written:   %v\ndescribed: %v", written, described)
	}
}

func TestEveryFieldSaysWhatItMeans(t *testing.T) {
	var check func(where string, typ reflect.Type)
	check = func(where string, typ reflect.Type) {
		for f := range typ.Fields() {
			if f.Tag.Get("doc") == "" || f.Tag.Get("json") == "" {
				t.Errorf("%s.%s has no doc or no json tag", where, f.Name)
			}
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				check(where+"."+f.Name, inner)
			}
		}
	}
	for _, entry := range events.Catalogue() {
		check(entry.Type, reflect.TypeOf(entry.New()).Elem())
	}
}
