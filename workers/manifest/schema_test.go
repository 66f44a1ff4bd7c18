package manifest

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the schema anew")

func TestSchemaIsUpToDate(t *testing.T) {
	schema := Schema()
	if *update {
		if err := os.WriteFile("schema.json", schema, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, schema) {
		t.Error("schema.json does not match the types: go test ./workers/manifest -run SchemaIsUpToDate -update")
	}
}

func compiled(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(SchemaID, schema); err != nil {
		tb.Fatal(err)
	}
	s, err := compiler.Compile(SchemaID)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// beyondSchema are the reasons in the corpus that JSON Schema cannot express.
var beyondSchema = []string{
	"policy: a worker cannot be given an orchestrator's commands",
	"policy: queue commands need the queue strategy",
	"policy: unknown session.agent",
	"policy: duplicate task id, reported at the second occurrence",
	"policy: dependency cycle of 400",
	"policy: dependency cycle of three",
	"policy: task depends on itself",
	"policy: parent cycle",
	"policy: documents above 16 MiB are refused (description of 20 MiB)",
	"policy: duplicate name, same value",
	"policy: duplicate name in session",
}

func TestSchemaAgreesOnTheCorpus(t *testing.T) {
	schema := compiled(t)
	met := map[string]bool{}
	judged := 0
	for _, c := range corpus(t) {
		_, err := Parse(c.document)
		if found := pointers(t, err); len(found) == 1 && found[0] == "" && c.Raw != nil &&
			c.Why != "the document is not an object: null" {
			continue // not JSON, or JSON that a validator would not be given
		}
		value, failed := jsonschema.UnmarshalJSON(bytes.NewReader(c.document))
		if failed != nil {
			t.Errorf("%s: %s: %v", c.ID, c.Why, failed)
			continue
		}
		judged++
		refused := schema.Validate(value)
		switch {
		case refused == nil && err != nil && slices.Contains(beyondSchema, c.Why):
			met[c.Why] = true
		case (refused == nil) != (err == nil):
			t.Errorf("%s: %s: the schema says %v, Parse %v", c.ID, c.Why, refused, err)
		}
	}
	for _, why := range beyondSchema {
		if !met[why] {
			t.Errorf("the schema can express it, or the corpus has no case of it: %s", why)
		}
	}
	if judged < 140 {
		t.Errorf("only %d cases were checked with the schema", judged)
	}
}
