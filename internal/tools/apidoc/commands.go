package apidoc

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"maestro/api"
	"maestro/api/route"
	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// callable reports whether a row is a command that somebody can send: it writes, and it exists.
func callable(row commands.Row) bool {
	return row.Write && !row.Planned && row.Who&^commands.RoleSystem != 0
}

// addCommands adds an operation for each row of the permission table that somebody can send.
func (d *document) addCommands(generic api.Documented) {
	byType := map[string]events.Entry{}
	for _, entry := range events.Catalogue() {
		byType[entry.Type] = entry
	}
	for _, row := range commands.CurrentRules().Rows() {
		if !callable(row) {
			continue
		}
		command, limits, _ := commands.BodyOf(row.ID)
		operation := &huma.Operation{
			OperationID: camel(row.ID, false),
			Method:      http.MethodPost,
			Path:        strings.Replace(generic.Path, "{id}", row.ID, 1),
			Summary:     d.summary(row),
			Description: fmt.Sprintf("For: %s. Decided on: %s. Becomes the event `%s`.",
				row.Who, row.Rule, row.Events),
			Tags:        []string{tagOf(row.ID)},
			Parameters:  d.commandParams(row.ID),
			RequestBody: d.body(d.command(row, command, limits), examples()[row.ID]),
			Extensions:  map[string]any{"x-maestro-row": row.ID},
		}
		if row.Core {
			operation.Description += " Every session may use it, whatever its manifest lists."
		}
		answer := d.schemas.of(reflect.TypeFor[wire.Done]())
		event := d.schemas.event(byType["maestro."+row.Events+".v1"])
		operation.Responses = d.answers(http.StatusOK, api.JSON, &huma.Schema{AllOf: []*huma.Schema{answer, {
			Type:       huma.TypeObject,
			Properties: map[string]*huma.Schema{"event": orNull(event)},
		}}}, wire.HeaderRetried)
		for _, status := range []int{400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503, 504} {
			d.refusal(operation, status)
		}
		d.AddOperation(operation)
	}
}

// summary says what a command does, as the help of its command line does.
func (d *document) summary(row commands.Row) string {
	if text := cmp.Or(d.summaries[row.ID], withoutLine[row.ID]); text != "" {
		return text
	}
	return d.summaries[row.Alias]
}

func (d *document) commandParams(id string) []*huma.Param {
	var params []*huma.Param
	for _, option := range wire.OptionsOf(id) {
		p := route.Param{Name: option.Name, In: "query", Doc: option.Doc}
		switch option.Form {
		case wire.OptionFlag:
			p.Words = []string{"true", "false"}
		case wire.OptionList:
			p.Doc += ", separated by commas"
		case wire.OptionText:
		}
		params = append(params, param(p))
	}
	headers := []string{wire.HeaderKey, wire.HeaderClient, wire.HeaderTraceParent}
	if commands.MayWait(id) {
		headers = append(headers, wire.HeaderOccurredAt)
	}
	for _, name := range headers {
		params = append(params, &huma.Param{Ref: "#/components/parameters/" + name})
	}
	return params
}

// command returns the schema of a command's body. Unknown members are refused.
func (d *document) command(row commands.Row, command commands.Command, limits map[string]commands.Limit) *huma.Schema {
	t := reflect.TypeOf(command).Elem()
	reference := d.schemas.of(t)
	schema := d.schemas.SchemaFromRef(reference.Ref)
	schema.AdditionalProperties = false
	for _, field := range reflect.VisibleFields(t) {
		property := schema.Properties[jsonName(field)]
		if field.Anonymous || property == nil {
			continue
		}
		property.Nullable = false
		property.Enum = nil
		// Of the options of an agent, the tags list the usual values: an agent may know others.
		if _, option := reflect.TypeFor[events.AgentOptions]().FieldByName(field.Name); !option {
			property.Enum = enum(route.WordsOf(field))
		}
		if limit, known := limits[jsonName(field)]; known {
			bound(property, int(limit.Value))
		}
	}
	if row.Alias != "" {
		return &huma.Schema{AllOf: []*huma.Schema{reference, {
			Type:       huma.TypeObject,
			Properties: map[string]*huma.Schema{"taskIds": {Type: huma.TypeArray, Items: text()}},
			Required:   []string{"taskIds"},
		}}}
	}
	return reference
}

// bound adds a limit to the schema of a text, a list or a map. No text has more characters than bytes.
func bound(schema *huma.Schema, most int) {
	switch {
	case schema.Type == huma.TypeString:
		schema.MaxLength = &most
	case schema.Type == huma.TypeArray:
		schema.MaxItems = &most
	case schema.AdditionalProperties != true: // free JSON is limited by its length
		schema.MaxProperties = &most
	}
}
