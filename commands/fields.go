package commands

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"maestro/events"
	"maestro/projections"
)

// fieldLimits holds the limit of each text, list, map and free JSON of the commands, by field name. A field with a
// special meaning in one command is listed as "command.field". A field with fixed values, which its flag tag lists, has
// the limit of a name.
var fieldLimits = sync.OnceValue(func() map[string]Limit {
	return map[string]Limit{
		"project": LimitID, "projectId": LimitID, "taskId": LimitID, "sessionId": LimitID, "parentId": LimitID,
		"inputId": LimitID, "about": LimitID, "before": LimitID, "after": LimitID,
		"webhookId":  LimitID,
		"templateId": LimitID, "queue": LimitID, "spawnedBy": LimitID, "like": LimitID, "manifestDigest": LimitID,

		"title": LimitTitle,
		"name":  LimitName, "model": LimitName, "agent": LimitName, "agentId": LimitName,
		"role": LimitName, "strategy": LimitName, "status": LimitName, "priority": LimitName, "kind": LimitName,
		"type":       LimitType,
		"url":        LimitURL,
		"why":        LimitName,
		"problem":    LimitName,
		"workingDir": LimitPath, "workingDirectory": LimitPath, "file": LimitPath,
		"address": LimitName, "audit:redact.reason": LimitName, "audit:redact.text": LimitID,

		"runner": LimitID, "check": LimitID, "host": LimitName, "signal": LimitName, "tool": LimitName,
		"conversation": LimitName, "path": LimitPath, "layers": LimitEntries,
		"lastOutput": LimitOutput, "command": LimitOutput, "detail": LimitOutput, "fix": LimitOutput,
		"sandbox:blocked.reason": LimitOutput, "preflight:failed.message": LimitOutput,

		"reason": LimitText, "answer": LimitText, "content": LimitText, "text": LimitText,
		"description": LimitLongText, "initialPrompt": LimitLongText, "message": LimitLongText,

		"acceptanceCriteria": LimitEntries, "skillIds": LimitEntries, "agentIds": LimitEntries, "skills": LimitEntries,
		"taskIds": LimitIDs, "projectIds": LimitIDs,
		"labels": LimitEntries, "addLabels": LimitEntries, "removeLabels": LimitEntries,
		"types":           LimitEntries,
		"planId":          LimitID,
		"addDependencies": LimitDependencies, "removeDependencies": LimitDependencies,
		"dependencies": LimitDependencies, "allowedCommands": LimitAllowed, "options": LimitOptions,
		"metadata": LimitFree, "context": LimitFree, "data": LimitFree, "env": LimitEnv,
		"removeEnv": LimitEnv,
	}
})

// fieldOf is a field of a command with its limit.
type fieldOf struct {
	name  string
	index []int
	limit Limit
	known bool
}

// fieldsOfTypes holds the bounded fields of each command. A client that decides nothing does not build it.
var fieldsOfTypes = sync.OnceValue(func() map[reflect.Type][]fieldOf {
	types := make(map[reflect.Type][]fieldOf, len(makers()))
	for id, maker := range makers() {
		t := reflect.TypeOf(maker.empty()).Elem()
		types[t] = boundedFields(id, t)
	}
	return types
})

// boundedFields returns a type's fields of variable size: texts, lists, maps and free JSON.
func boundedFields(id string, t reflect.Type) []fieldOf {
	var fields []fieldOf
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "" || name == "-" {
			continue
		}
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch kind.Kind() {
		case reflect.String, reflect.Slice, reflect.Map, reflect.Struct, reflect.Array, reflect.Interface:
		default:
			continue
		}
		limit, known := fieldLimits()[id+"."+name]
		if !known {
			limit, known = fieldLimits()[name]
		}
		if !known && strings.Contains(field.Tag.Get("flag"), "|") {
			limit, known = LimitName, true
		}
		fields = append(fields, fieldOf{name, field.Index, limit, known})
	}
	return fields
}

// Decide returns a command's decision. From rules 3 on, it first checks the command's fields against their limits.
func Decide(s *projections.State, command Command, c Call) (events.Data, error) {
	if thirdOn(c.Rules) {
		if err := checkFields(command); err != nil {
			return nil, err
		}
	}
	data, err := command.Decide(s, c)
	if err == nil && data != nil {
		err = Redacted(s, data)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// checkFields refuses a command whose lists, maps or free JSON are above their limits.
func checkFields(command Command) error {
	v := reflect.ValueOf(command).Elem()
	for _, field := range fieldsOfTypes()[v.Type()] {
		if field.limit.Code != CodeLimit {
			continue
		}
		if err := field.check(v.FieldByIndex(field.index)); err != nil {
			return err
		}
	}
	return nil
}

func (f fieldOf) check(v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case json.RawMessage:
		return f.free(value)
	case map[string]string:
		return checkEnv(value)
	}
	if n := int64(v.Len()); n > f.limit.Value {
		return f.limit.exceeded("/"+f.name, f.name, n)
	}
	return nil
}

func (f fieldOf) free(raw json.RawMessage) error {
	if n := int64(len(raw)); n > f.limit.Value {
		return f.limit.exceeded("/"+f.name, f.name, n)
	}
	return checkFree("/"+f.name, f.name, raw)
}

// checkEnv checks an environment against its limits.
func checkEnv(env map[string]string) error {
	if n := int64(len(env)); n > LimitEnv.Value {
		return LimitEnv.exceeded("/env", "env", n)
	}
	var size int64
	for name, value := range env {
		size += int64(len(name) + len(value))
	}
	if size > LimitEnvBytes.Value {
		return LimitEnvBytes.exceeded("/env", "env", size)
	}
	return nil
}

// BodyOf returns an empty command of a row that writes, and the limits of its fields by name; false for any other id.
func BodyOf(id string) (Command, map[string]Limit, bool) {
	row, known := current().Row(id)
	if !known || row.makes == nil {
		return nil, nil, false
	}
	command := row.makes.empty()
	limits := map[string]Limit{}
	for _, field := range fieldsOfTypes()[reflect.TypeOf(command).Elem()] {
		if field.known {
			limits[field.name] = field.limit
		}
	}
	return command, limits, true
}
