package model_test

import (
	"context"
	"fmt"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

func ExampleFallback() {
	// Any two models will do, such as clients of two endpoints.
	first := modeltest.New(modeltest.Fail(&model.Error{Kind: model.Unreachable, Status: 503, Message: "overloaded"}))
	second := modeltest.New(modeltest.Text("Hello."))

	m := model.Fallback(first, second)
	reply, err := m.Generate(context.Background(), modeltest.Hello(), func(c model.Chunk) {
		if c.Retry != nil {
			fmt.Println(c.Retry.Err, "-", c.Retry.Next, "is asked instead")
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Message.Text())
	// Output:
	// model: HTTP 503: overloaded - model 2 is asked instead
	// Hello.
}
