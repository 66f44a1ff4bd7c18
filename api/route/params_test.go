package route

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

type asked struct {
	ID   string `path:"id"`
	Name string `query:"name"`
	More
}

type More struct {
	Active string `query:"active"`
}

// A parameter without a value is true, the first of several counts, and names and values are decoded.
func TestParametersAreBound(t *testing.T) {
	for url, want := range map[string]asked{
		"/things/a%20b":                  {ID: "a b"},
		"/things/x?name=y&active=true":   {ID: "x", Name: "y", More: More{"true"}},
		"/things/x?active":               {ID: "x", More: More{"true"}},
		"/things/x?active&name=z":        {ID: "x", Name: "z", More: More{"true"}},
		"/things/x?name=&active=":        {ID: "x"},
		"/things/x?name=a&name=b":        {ID: "x", Name: "a"},
		"/things/x?n%61me=a+b%26c":       {ID: "x", Name: "a b&c"},
		"/things/x?name=%zz&other=1":     {ID: "x"},
		"/things/x?other=name%3Db&nam=e": {ID: "x"},
	} {
		var got asked
		mux := http.NewServeMux()
		mux.HandleFunc("GET /things/{id}", func(_ http.ResponseWriter, r *http.Request) {
			bind(reflect.ValueOf(&got).Elem(), ParamsOf(reflect.TypeFor[asked]()), r)
		})
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, url, nil))
		if got != want {
			t.Errorf("%s is read as %+v, not %+v", url, got, want)
		}
	}
}
