package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every text, list, map and free JSON of every command has a documented limit.
func TestEveryFieldHasALimit(t *testing.T) {
	var documented []string
	for _, group := range Limits() {
		for _, l := range group.Limits {
			if l.Name == "" || l.Value <= 0 || l.Unit == "" || l.Bounds == "" || (l.Code == "") == (l.Answer == "") ||
				slices.Contains(documented, l.Name) {
				t.Errorf("%+v is incomplete or a duplicate", l)
			}
			documented = append(documented, l.Name)
		}
	}
	for id, maker := range makers() {
		for _, field := range boundedFields(id, reflect.TypeOf(maker.empty()).Elem()) {
			if !field.known || !slices.Contains(documented, field.limit.Name) {
				t.Errorf("%s: the field %s has no limit; give it one in fieldLimits", id, field.name)
			}
		}
	}
}

// sized returns a value of a field with n of the things that its limit counts.
func sized(t *testing.T, kind reflect.Type, n int) reflect.Value {
	t.Helper()
	if kind.Kind() == reflect.Pointer {
		value := reflect.New(kind.Elem())
		value.Elem().Set(sized(t, kind.Elem(), n))
		return value
	}
	switch reflect.Zero(kind).Interface().(type) {
	case json.RawMessage:
		return reflect.ValueOf(json.RawMessage(`{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}`))
	case map[string]string:
		env := map[string]string{}
		for i := range n {
			env[fmt.Sprint("V", i)] = "v"
		}
		return reflect.ValueOf(env)
	case []string:
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint("id", i)
		}
		return reflect.ValueOf(list)
	}
	t.Fatalf("a field of type %s has a limit, and this test cannot create such a value", kind)
	return reflect.Value{}
}

// Each list, map and free JSON is accepted at its limit and refused above it, from version 3 of the rules on.
func TestFieldsAreBounded(t *testing.T) {
	for id, maker := range makers() {
		for _, field := range fieldsOfTypes()[reflect.TypeOf(maker.empty()).Elem()] {
			if field.limit.Code != CodeLimit {
				continue
			}
			for _, above := range []int{0, 1} {
				command := maker.empty()
				v := reflect.ValueOf(command).Elem().FieldByIndex(field.index)
				v.Set(sized(t, v.Type(), int(field.limit.Value)+above))
				err := checkFields(command)
				if above == 0 {
					if err != nil {
						t.Errorf("%s: %s at its limit: %v", id, field.name, err)
					}
					continue
				}
				isAbove(t, id+": "+field.name, err, field.limit)
				for _, older := range []string{firstRules, secondRules} {
					if _, err := Decide(newGround(t).s, command, Call{
						By:    Admin(AuthnToken),
						Rules: older,
					}); code(err) == CodeLimit {
						t.Errorf("%s: %s is refused by rules %s: %v", id, field.name, older, err)
					}
				}
			}
		}
	}
	isAbove(t, "names", checkFields(&CreateTask{Metadata: json.RawMessage(names(1001))}), LimitNames)
	isAbove(t, "depth", checkFields(&CreateTask{Metadata: json.RawMessage(strings.Repeat(`{"a":`, 64) + "[]" +
		strings.Repeat("}", 64))}), LimitDepth)
	isAbove(t, "env", checkFields(&RegisterSession{Env: map[string]string{"A": strings.Repeat("x", 64<<10)}}),
		LimitEnvBytes)
}

// isAbove checks that an error names a limit and its number.
func isAbove(t *testing.T, what string, err error, l Limit) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Code != CodeLimit || !strings.Contains(refusal.Message, "limit "+l.Name) ||
		!strings.Contains(refusal.Message, fmt.Sprint(l.Value)) {
		t.Errorf("%s: above the limit %s: %v", what, l.Name, err)
	}
}
