package openai

import (
	"net/http"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

var _ model.OutputSchemas = (*Client)(nil)

// officialHost is the endpoint whose models are known to write by a schema.
const officialHost = "api.openai.com"

// TakesOutputSchemas implements [model.OutputSchemas]: it is so of OpenAI's own
// endpoint, until that has refused a schema. Other endpoints may take one, ignore
// it or refuse it.
func (c *Client) TakesOutputSchemas() bool {
	return c.official && !c.current().noOutput
}

// aboutOutput are the words in which endpoints speak of response_format.
var aboutOutput = []string{"response_format", "response format", "json_schema", "structured output", "response mime type", "response_schema"}

// refusesOutput says that an endpoint refused a request for the schema in it. The
// schema is not left out then: the reply would answer another question, and who
// asked has other ways to say what is wanted.
func refusesOutput(e *model.Error, req *model.Request) bool {
	if req.Output == nil || e.Kind == model.ContextOverflow {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
	default:
		return false
	}
	return strings.HasPrefix(e.Param, "response_format") || containsAny(strings.ToLower(e.Message+" "+e.Code), aboutOutput...)
}

// refusedOutput is the error for a schema that was refused; failed is nil where that
// was known before.
func refusedOutput(failed *model.Error) *model.Error {
	if failed == nil {
		return &model.Error{
			Kind: model.Rejected, Param: "response_format", Err: model.ErrOutputSchema,
			Message: model.ErrOutputSchema.Error() + ": it refused one before",
		}
	}
	failed.Kind, failed.Retryable, failed.Err = model.Rejected, false, model.ErrOutputSchema
	return failed
}
