package wire

import (
	"reflect"
	"strings"
	"testing"

	"maestro/commands"
)

// A request for a manifest has the same fields as a spawn, with the same Go and JSON names and types.
func TestManifestRequestMatchesSpawn(t *testing.T) {
	spawn := reflect.TypeFor[commands.SpawnSession]()
	fields := 0
	for _, asked := range reflect.VisibleFields(reflect.TypeFor[NewManifest]()) {
		if asked.Anonymous {
			continue
		}
		fields++
		said, ok := spawn.FieldByName(asked.Name)
		name, _, _ := strings.Cut(said.Tag.Get("json"), ",")
		if have, _, _ := strings.Cut(asked.Tag.Get("json"), ","); !ok || have != name || asked.Type != said.Type {
			t.Errorf("%s is %s, %q here, but %v, %q in a spawn", asked.Name, asked.Type, have, said.Type, name)
		}
	}
	if fields < 12 {
		t.Errorf("it has %d fields", fields)
	}
}
