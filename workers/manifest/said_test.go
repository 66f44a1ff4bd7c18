package manifest

import (
	"reflect"
	"testing"

	"maestro/commands"
	"maestro/events"
)

// Everything that a spawn states for its manifest is in the generated one, and every field in which it differs from a
// given manifest is found.
func TestSpawnIsInItsManifest(t *testing.T) {
	spawn := commands.SpawnSession{
		Role:     events.RoleWorker,
		Strategy: events.StrategyTree,
		Model:    "opus",
		Agent:    "codex",
		Skills:   []string{"review"},
		Allowed:  &[]string{"task:get"},
		Timeout:  1500,
		AgentOptions: events.AgentOptions{
			PermissionMode:   "readOnly",
			ThinkingMode:     "disabled",
			MaxTurns:         7,
			WorkingDirectory: "/w",
			TemplateID:       "tmpl_1",
			Network:          "443",
		},
	}
	options := reflect.ValueOf(&spawn.AgentOptions).Elem()
	for i := range options.NumField() {
		if options.Field(i).IsZero() {
			t.Fatalf("%s has no value", options.Type().Field(i).Name)
		}
	}
	said := Said(&spawn)
	if name, has := said.Otherwise(&spawn); name != "" {
		t.Fatalf("%s is %q", name, has)
	}
	empty := Manifest{}
	found := 0
	for _, field := range inBoth(&spawn, &said) {
		if field.here.IsZero() {
			t.Errorf("%s is not in the manifest", field.name)
		}
		found++
		alone := reflect.New(reflect.TypeFor[commands.SpawnSession]())
		for _, other := range inBoth(alone.Interface(), &empty) {
			if other.name == field.name {
				other.said.Set(field.said)
			}
		}
		if name, _ := empty.Otherwise(alone.Interface()); name != field.name {
			t.Errorf("the difference in %s was not found, but one in %q", field.name, name)
		}
	}
	if want := options.NumField() + 7; found != want {
		t.Errorf("%d fields are in the manifest, want %d", found, want)
	}
}
