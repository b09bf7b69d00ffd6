"""An example plug-in package that adds components to Onym."""
