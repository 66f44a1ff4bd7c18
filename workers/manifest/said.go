package manifest

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"maestro/events"
)

// Said returns the parts of a manifest that a command sets: each field of the manifest and of its session that the
// command has under the same JSON name.
func Said(command any) (m Manifest) {
	for _, field := range inBoth(command, &m) {
		field.here.Set(field.said.Convert(field.here.Type()))
	}
	return m
}

// Options returns how the manifest's agent is run, where that is not the default.
func (m *Manifest) Options() (options events.AgentOptions) {
	chosen := *m
	chosen.Session.dropDefaults()
	for _, field := range inBoth(&options, &chosen) {
		field.said.Set(field.here.Convert(field.said.Type()))
	}
	return options
}

// Model returns the model of the manifest's agent, "" for the default one.
func (m *Manifest) Model() string {
	session := m.Session
	session.dropDefaults()
	return session.Model
}

// Otherwise returns the first field in which a command contradicts the manifest, and the manifest's value; "" if there
// is none. A command does not contradict what it omits.
func (m *Manifest) Otherwise(command any) (name, has string) {
	for _, field := range inBoth(command, m) {
		said, here := reflect.Indirect(field.said), reflect.Indirect(field.here)
		switch {
		case field.said.IsZero():
		case !here.IsValid():
			return field.name, "none"
		case said.Kind() == reflect.Slice:
			if !slices.Equal(said.Interface().([]string), here.Interface().([]string)) {
				return field.name, "those of the manifest"
			}
		case !said.Convert(here.Type()).Equal(here):
			if here.CanInt() {
				return field.name, strconv.FormatInt(here.Int(), 10)
			}
			return field.name, here.String()
		}
	}
	return "", ""
}

// shared is a field that both a command and a manifest have.
type shared struct {
	name       string
	said, here reflect.Value
}

// inBoth returns the fields of a manifest and of its session that a command has too.
func inBoth(command any, m *Manifest) (found []shared) {
	of := reflect.ValueOf(command).Elem()
	byName := map[string]reflect.Value{}
	for _, field := range reflect.VisibleFields(of.Type()) {
		if name := jsonName(field); name != "" {
			byName[name] = of.FieldByIndex(field.Index)
		}
	}
	for _, part := range []reflect.Value{reflect.ValueOf(m).Elem(), reflect.ValueOf(&m.Session).Elem()} {
		for i := range part.NumField() {
			name := jsonName(part.Type().Field(i))
			said, ok := byName[name]
			if ok && said.CanConvert(part.Field(i).Type()) {
				found = append(found, shared{name, said, part.Field(i)})
			}
		}
	}
	return found
}

// jsonName returns the name of a field in JSON; "" if it is not included.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if field.Anonymous || name == "-" {
		return ""
	}
	return name
}

// setDefaults sets every empty field to the value of its default tag.
func (s *Session) setDefaults() {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if otherwise, ok := v.Type().Field(i).Tag.Lookup("default"); ok && v.Field(i).IsZero() {
			v.Field(i).SetString(otherwise)
		}
	}
}

// dropDefaults empties every field that has the value of its default tag.
func (s *Session) dropDefaults() {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if otherwise, ok := v.Type().Field(i).Tag.Lookup("default"); ok && v.Field(i).String() == otherwise {
			v.Field(i).SetZero()
		}
	}
}
