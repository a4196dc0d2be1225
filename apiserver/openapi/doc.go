// Package openapi hides the OpenAPI schemas of what convoy-apiserver serves. They are generated from api/subresources/v1alpha1.
package openapi
