"""Code that makes, scores and shows the results stored in results/. A row is one run: settings, predictions and figures."""
