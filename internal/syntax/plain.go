package syntax

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// plainError is a library's error in plain words.
type plainError struct {
	words string
	err   error
}

func (e *plainError) Error() string { return e.words }
func (e *plainError) Unwrap() error { return e.err }

// Plain returns a parsing library's error in plain words, such as "it is cut short"; the error stays in its chain. It
// returns any other error, and nil, unchanged.
func Plain(err error) error {
	var done *plainError
	if err == nil || errors.As(err, &done) {
		return err
	}
	words := describeJSON(err)
	if words == "" {
		words = describeArchive(err)
	}
	if words == "" {
		words = describeValue(err)
	}
	if words == "" {
		return err
	}
	return &plainError{words, err}
}

// tarError begins the errors of archive/tar. Importing it would also import os/user.
const tarError = "archive/tar: "

const cutShort = "it is cut short"

// unknownField begins the error of a decoder for an unknown field; it has no type.
const unknownField = "json: unknown field "

func describeJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return cutShort
	case errors.As(err, &syntax):
		return fmt.Sprintf("it stops being JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		where := "it"
		if kind.Field != "" {
			where = "the field " + strconv.Quote(kind.Field)
		}
		return fmt.Sprintf("%s is %s, and must be %s", where, found(kind.Value), wanted(kind.Type))
	case strings.HasPrefix(err.Error(), unknownField):
		return "there is no field " + strings.TrimPrefix(err.Error(), unknownField)
	}
	return ""
}

// found names a JSON value, in the words of encoding/json: "array", or "number 1.5".
func found(value string) string {
	kind, detail, _ := strings.Cut(value, " ")
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "number":
		return strings.TrimSpace("a number " + detail)
	}
	return value
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number that fits"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 on that fits"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a text"
		}
		return "a list"
	case reflect.Pointer:
		return wanted(t.Elem())
	default:
		return "an object"
	}
}

func describeArchive(err error) string {
	var corrupt flate.CorruptInputError
	var internal flate.InternalError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return cutShort
	case errors.Is(err, bufio.ErrTooLong):
		return "a line is longer than Maestro writes one"
	case errors.Is(err, gzip.ErrHeader):
		return "it does not begin like a compressed file"
	case errors.Is(err, gzip.ErrChecksum):
		return "its content does not have the checksum at its end"
	case errors.As(err, &corrupt):
		return fmt.Sprintf("what is compressed is damaged before byte %d", int64(corrupt))
	case errors.As(err, &internal):
		return "what is compressed is damaged"
	case strings.HasPrefix(err.Error(), tarError):
		return "the header of an entry in the archive is damaged"
	}
	return ""
}

func describeValue(err error) string {
	var coded base64.CorruptInputError
	var digit hex.InvalidByteError
	var number *strconv.NumError
	var moment *time.ParseError
	switch {
	case errors.As(err, &coded):
		return fmt.Sprintf("its base64 is wrong at byte %d", int64(coded))
	case errors.As(err, &digit):
		return fmt.Sprintf("%q is not a hexadecimal digit", rune(digit))
	case errors.Is(err, hex.ErrLength):
		return "its hexadecimal digits come in an odd number"
	case errors.As(err, &number) && errors.Is(number.Err, strconv.ErrRange):
		return fmt.Sprintf("the number %s is out of range", strconv.Quote(number.Num))
	case errors.As(err, &number):
		return fmt.Sprintf("%s is no number", strconv.Quote(number.Num))
	case errors.As(err, &moment):
		return fmt.Sprintf("%s is not a time such as 2006-01-02T15:04:05Z", strconv.Quote(moment.Value))
	}
	return ""
}
